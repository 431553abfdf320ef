import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../../test/support/waiting.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { Events, type EndedSession, type ServiceState } from '../../platform/events.js';
import { EventStream } from '../../platform/http/event-stream.js';
import type { SessionFeedStore, PastPage } from './session-feed.store.js';
import { SessionFeedStreams } from './session-feed.streams.js';
import type { KeyRing } from '../keys/key-ring.js';

/** Collects what a stream sends. */
class Reader implements Pick<
  EventStream,
  'isOpen' | 'isFull' | 'begin' | 'send' | 'drained' | 'cutOff' | 'end' | 'onClose'
> {
  text = '';
  hasBegun = false;
  isOpen = true;
  isFull = false;
  private readonly waits: (() => void)[] = [];
  private readonly listeners: (() => void)[] = [];

  begin(): void {
    this.hasBegun = true;
  }
  send(text: string): void {
    if (this.isOpen) this.text += text;
  }
  drained(): Promise<void> {
    if (!this.isFull) return Promise.resolve();
    return new Promise((resolve) => this.waits.push(resolve));
  }
  async reads(): Promise<void> {
    this.isFull = false;
    for (const resolve of this.waits.splice(0)) resolve();
    await delay(0);
  }
  cutOff(): void {
    this.end();
  }
  end(): void {
    this.isOpen = false;
    for (const listener of this.listeners) listener();
  }
  onClose(listener: () => void): void {
    this.listeners.push(listener);
  }
  /** Returns what was sent since the last call. */
  news(): string {
    const { text } = this;
    this.text = '';
    return text;
  }
}

const session = (name: string, deviceId: string | null = null): EndedSession => ({
  sessionId: name,
  userId: `user of ${name}`,
  deviceId,
  endedAt: new Date(1_700_000_000_123),
  cause: null,
  until: new Date(1_700_003_600_456),
});
const endedText = (name: string, device: string | null = null): string =>
  `event: ended\ndata: ${JSON.stringify({
    session_id: name,
    user_id: `user of ${name}`,
    device_id: device,
    ended_at: '2023-11-14T22:13:20.123Z',
    until: '2023-11-14T23:13:20.456Z',
  })}\n\n`;
const withdrawn = (kid: string): string => `event: key_revoked\ndata: {"kid":"${kid}"}\n\n`;
const READY = 'event: ready\nid: 7-7\ndata: {}\n\n';

/** docs/ended-sessions.md#a-reader */
describe('a stream of ended sessions', () => {
  let events: Events;
  let past: PastPage[];
  /** Called before each page. */
  let atPage: (page: number) => void;
  let begins: (lastEventId: string | undefined) => Promise<void>;
  let revokedKids: string[];
  let streams: SessionFeedStreams;
  beforeEach(() => {
    events = new Events();
    [past, atPage, begins, revokedKids] = [[], () => undefined, () => Promise.resolve(), []];
    const endings: Pick<SessionFeedStore, 'past'> = {
      past: async (lastEventId) => {
        await begins(lastEventId);
        return { cursor: '7-7', pages: pages() };
      },
    };
    const keys: Pick<KeyRing, 'revokedKids'> = {
      get revokedKids() {
        return revokedKids;
      },
    };
    streams = new SessionFeedStreams(endings as SessionFeedStore, keys as KeyRing, events);
  });
  async function* pages(): AsyncGenerator<PastPage, void> {
    for (const [i, page] of past.entries()) {
      await Promise.resolve();
      atPage(i);
      yield page;
    }
  }

  const openOn = (reader: Reader, lastEventId?: string): Promise<void> =>
    streams.open(reader as unknown as EventStream, lastEventId);
  async function open(): Promise<Reader> {
    const reader = new Reader();
    await openOn(reader);
    reader.news();
    return reader;
  }
  function count(): number | undefined {
    let state: Partial<ServiceState> = {};
    events.emit('state.requested', (part) => (state = { ...state, ...part }));
    return state.endedSessionStreams;
  }

  it('begins with the revoked keys and the past, each page with its cursor, and then is ready', async () => {
    const begun: unknown[] = [];
    begins = (id) => Promise.resolve(void begun.push(id));
    revokedKids = ['k', 'l'];
    past = [
      { changed: [], ended: [session('a', 'd'), session('b')], cursor: '1-7' },
      { changed: [], ended: [session('c')], cursor: '2-7' },
    ];
    const reader = new Reader();
    await openOn(reader, '0-5');
    expect(begun).toEqual(['0-5']);
    expect(reader.news()).toBe(
      `${withdrawn('k')}${withdrawn('l')}${endedText('a', 'd')}${endedText('b')}id: 1-7\n\n${endedText('c')}id: 2-7\n\n${READY}`,
    );
  });

  it('sends endings after each reading, with the cursor if the reading has one', async () => {
    const both = [await open(), await open()];
    events.emit('session.ended', session('a', 'd'));
    events.emit('session.ended', session('b'));
    expect(both.map((reader) => reader.news())).toEqual(['', '']);
    const texts: string[] = [];
    for (const cursor of ['8-8', '9-9', null]) {
      events.emit('sessions.read', { cursor });
      texts.push(...both.map((reader) => reader.news()));
    }
    events.emit('session.ended', session('c'));
    events.emit('sessions.read', { cursor: null });
    texts.push(both[0]!.news());
    const [first, second] = [
      `${endedText('a', 'd')}${endedText('b')}: 8-8\nid: 8-8\n\n`,
      ': 9-9\nid: 9-9\n\n', // each session once
    ];
    expect(texts).toEqual([first, first, second, second, '', '', endedText('c')]);
  });

  it('gets no cursor before it is ready, but endings and comments', async () => {
    past = [
      { changed: [], ended: [session('a')], cursor: '1-7' },
      { changed: [], ended: [session('b')], cursor: '2-7' },
    ];
    const reader = new Reader();
    atPage = (page) => {
      if (page === 0) events.emit('session.ended', session('new'));
      events.emit('sessions.read', { cursor: page === 0 ? '8-8' : null });
    };
    await openOn(reader);
    expect(reader.news()).toBe(
      `${endedText('new')}:\n\n${endedText('a')}id: 1-7\n\n${endedText('b')}id: 2-7\n\n${READY}`,
    );
    events.emit('sessions.read', { cursor: '9-9' });
    expect(reader.news()).toBe(': 9-9\nid: 9-9\n\n');
  });

  it('does not get older claims after newer ones: a page of the past may have been read before them', async () => {
    const change = (role: string, user = 'u') => ({
      userId: user,
      key: '',
      claims: { roles: [role] },
      changedAt: new Date(0),
      until: new Date(0),
    });
    past = [{ changed: [change('admin'), change('admin', 'v')], ended: [], cursor: null }];
    atPage = () => {
      events.emit('claims.changed', change('reader'));
      events.emit('sessions.read', { cursor: null });
    };
    const reader = new Reader();
    await openOn(reader);
    expect(
      [...reader.news().matchAll(/"user_id":"(.)".*?"roles":\["(\w+)"/g)].map(([, ...all]) => all),
    ).toEqual([
      ['u', 'reader'],
      ['v', 'admin'],
    ]);
  });

  describe('a slow reader', () => {
    it('gets the endings after it has read, and then only the newest cursor', async () => {
      const reader = await open();
      reader.isFull = true;
      for (const name of ['a', 'b']) {
        events.emit('session.ended', session(name));
        events.emit('sessions.read', { cursor: `${name}-1` });
      }
      events.emit('sessions.read', { cursor: '9-9' });
      expect(reader.news()).toBe('');
      await reader.reads();
      expect(reader.news()).toBe(`${endedText('a')}${endedText('b')}: 9-9\nid: 9-9\n\n`);
      events.emit('sessions.read', { cursor: '10-9' });
      expect(reader.news()).toBe(': 10-9\nid: 10-9\n\n');
    });

    it('is ready after the queued endings', async () => {
      const reader = new Reader();
      reader.isFull = true;
      past = [{ changed: [], ended: [session('a')], cursor: '1-7' }];
      atPage = () => {
        events.emit('session.ended', session('new'));
        events.emit('sessions.read', { cursor: null });
      };
      const opened = openOn(reader);
      await delay(0);
      expect(reader.news()).toBe(`${endedText('a')}id: 1-7\n\n`);
      await reader.reads();
      await opened;
      expect(reader.news()).toBe(endedText('new') + READY);
    });

    const SESSIONS = 10_000;
    function endMany(sessions = SESSIONS): void {
      for (let i = 0; i < sessions; i++) {
        events.emit('session.ended', session(`${i}`));
        if (i % 1000 === 999) events.emit('sessions.read', { cursor: null });
      }
      events.emit('sessions.read', { cursor: '8-8' });
    }

    it('is not closed by 10,000 endings, without a copy of them; beyond 8 MiB it is', async () => {
      const server = createServer();
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      try {
        let text = '';
        socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        socket.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
        const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
        const stream = new EventStream(response);
        await streams.open(stream, undefined);
        async function stopReading(): Promise<void> {
          socket.pause();
          // Until the kernel takes no more.
          for (; !stream.isFull; await delay(1)) stream.send(`: ${'x'.repeat(64 * 1024)}\n`);
        }
        await stopReading();
        const before = response.writableLength;
        endMany();
        expect([stream.isOpen, response.writableLength]).toEqual([true, before]);
        socket.resume();
        await until(() => text.includes('id: 8-8'));
        expect(text.match(/event: ended/g)).toHaveLength(SESSIONS);
        await stopReading();
        endMany(6 * SESSIONS);
        expect(stream.isOpen).toBe(false);
        await until(() => count() === 0);
      } finally {
        socket.destroy();
        server.close();
      }
    });
  });

  it('gets a revoked key at once, also before it is ready', async () => {
    const reader = await open();
    events.emit('key.revoked', { kid: 'k' });
    expect(reader.news()).toBe(withdrawn('k'));
    const other = new Reader();
    begins = () => Promise.resolve(void events.emit('key.revoked', { kid: 'l' }));
    await openOn(other);
    expect(other.news()).toBe(withdrawn('l') + READY);
  });

  it('is one of 100 on its instance; the next one gets slow_down until one is closed', async () => {
    const all = await Promise.all(Array.from({ length: 100 }, open));
    expect(count()).toBe(100);
    const refused = await openOn(new Reader()).catch((error: unknown) => error as OAuthError);
    expect(refused).toMatchObject({ error: 'slow_down', headers: { 'Retry-After': '5' } });
    expect((refused as OAuthError).description).not.toBe('');
    all[0]!.end();
    expect(count()).toBe(99);
    await open();
    expect(count()).toBe(100);
  });

  it.each<[string, (reader: Reader) => void]>([
    ['before it was opened', (reader) => reader.end()],
    ['while the time was read', (reader) => (begins = () => Promise.resolve(reader.end()))],
    ['while its past was read', (reader) => (atPage = () => reader.end())],
  ])('does not count if its reader disconnected %s', async (_when, leave) => {
    const reader = new Reader();
    past = [{ changed: [], ended: [session('a')], cursor: '1-7' }];
    leave(reader);
    await openOn(reader);
    expect(count()).toBe(0);
  });

  it('does not count if the database is unavailable, and its reader gets the error', async () => {
    const away = new Error('away');
    begins = () => Promise.reject(away);
    const reader = new Reader();
    await expect(openOn(reader)).rejects.toBe(away);
    expect([count(), reader.hasBegun]).toEqual([0, false]);
  });

  it('is empty, but a stream, if the service stops before the past was read', async () => {
    const server = createServer((_request, response) => {
      begins = () => Promise.resolve(streams.beforeApplicationShutdown());
      void streams.open(new EventStream(response), undefined);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      const { status, headers } = answer;
      expect([status, headers.get('content-type'), await answer.text()]).toEqual([
        200,
        'text/event-stream',
        '',
      ]);
    } finally {
      server.close();
    }
  });

  it('ends when the service stops, and no other begins', async () => {
    const all = [await open(), await open()];
    streams.beforeApplicationShutdown();
    expect([all.map(({ isOpen }) => isOpen), count()]).toEqual([[false, false], 0]);
    const refused = await openOn(new Reader()).catch((error: unknown) => error as OAuthError);
    expect(refused).toMatchObject({ error: 'server_error' });
    expect((refused as OAuthError).description).not.toBe('');
    expect(count()).toBe(0);
  });
});
