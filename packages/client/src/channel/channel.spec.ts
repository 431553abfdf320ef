import { jest } from '@jest/globals';
import { openChannel } from './channel.js';
import { makeEvents } from './events.js';
import { LatchkeyError } from '../latchkey-error.js';
import { after, backoff, onWake } from '../service/timer.js';
import { FakeSocket } from '../testing/socket.js';

const seconds = (count: number): Promise<void> => jest.advanceTimersByTimeAsync(count * 1000);
const meta = (offset: number | null): object => ({ id: `e${offset}`, offset, sent_at: '' });
const ready = (offset: number, recovered = true, id = `e${offset}`): object => ({ offset, id, recovered });
const refusedToken = { data: { error: 'invalid_token' } };

let tokens: (string | LatchkeyError)[];
let refreshed: (string | undefined)[];
/** Errors of the next refreshes. */
let answers: LatchkeyError[];
let ended: string[];
/** Claims that the channel has reported. */
let expected: unknown[];

beforeEach(() => {
  jest.useFakeTimers();
  FakeSocket.all.length = 0;
  tokens = [];
  refreshed = [];
  answers = [];
  ended = [];
  expected = [];
});
afterEach(() => jest.useRealTimers());

async function open(offset?: number, id?: string) {
  const refresher = {
    fresh: async () => {
      const next = tokens.shift() ?? 'token';
      if (next instanceof LatchkeyError) throw next;
      return next;
    },
    refresh: async (stale?: string) => {
      refreshed.push(stale);
      const answer = answers.shift();
      if (answer) throw answer;
      return 'refreshed';
    },
    renewed: () => undefined,
    replaced: () => undefined,
    expectClaims: (claims: unknown) => void expected.push(claims),
    stop: () => undefined,
  };
  const endSession = (reason: string): void => {
    ended.push(reason);
    channel.close();
  };
  const parts = [[after, backoff, onWake], makeEvents()] as const;
  const channel = openChannel(parts, 'https://id.example', FakeSocket, offset, id, refresher, endSession);
  const closed: unknown[] = [];
  channel.on('disconnect', (info) => closed.push(info));
  await seconds(0);
  return { channel, closed };
}

it('connects by WebSocket, with a fresh token and from the offset that the application has', async () => {
  const { channel } = await open(41, 'e41');
  expect(FakeSocket.last.url).toBe('https://id.example');
  expect(FakeSocket.last.options).toMatchObject({
    auth: { token: 'token', offset: 41, id: 'e41' },
    transports: ['websocket'],
  });
  FakeSocket.last.receive('ready', ready(41));
  expect(channel.connected).toBe(true);
});

it('delivers each event once and in order, though the server repeats some', async () => {
  const { channel } = await open();
  const got: unknown[] = [];
  const all: unknown[] = [];
  channel.on('note', (data) => got.push(data));
  const stop = channel.on('*', (name) => all.push(name));
  FakeSocket.last.receive('ready', ready(5));
  for (const offset of [5, 6, 6, 8, 7]) FakeSocket.last.receive('note', offset, meta(offset));
  FakeSocket.last.receive('note', 'now', meta(null));
  stop();
  FakeSocket.last.receive('note', 9, meta(9));
  expect(got).toEqual([6, 8, 'now', 9]);
  expect(all).toEqual(['note', 'note', 'note']);
  expect(channel.offset).toBe(9);
});

it('reports changed claims, once each, and delivers the event as well', async () => {
  const { channel } = await open();
  const got: unknown[] = [];
  channel.on('claims.changed', ({ claims }) => got.push(claims));
  FakeSocket.last.receive('ready', ready(5));
  const [first, second] = [{ roles: ['admin'] }, {}];
  for (const [offset, claims] of [
    [6, first],
    [6, first],
    [7, second],
  ] as const)
    FakeSocket.last.receive('claims.changed', { claims }, meta(offset));
  expect(expected).toEqual([first, second]);
  expect(got).toEqual([first, second]);
});

it('reconnects with another token from the last offset, and reports lost events', async () => {
  const { channel } = await open();
  const infos: unknown[] = [];
  channel.on('ready', (info) => infos.push(info));
  channel.on('disconnect', (info) => infos.push(info));
  const first = FakeSocket.last;
  first.receive('ready', ready(1));
  first.receive('note', '', meta(2));
  for (const reason of ['shutdown', 'overloaded', 'expired']) {
    tokens = [`after ${reason}`];
    FakeSocket.last.receive('session.ended', { reason });
    FakeSocket.last.happen('disconnect', 'transport close');
    expect(channel.connected).toBe(false);
    await seconds(1);
    expect(FakeSocket.last.auth).toEqual({ token: `after ${reason}`, offset: 2, id: 'e2' });
    FakeSocket.last.receive('ready', ready(2, reason !== 'expired'));
  }
  first.receive('note', 'of a socket that was left', meta(3));
  expect(channel.offset).toBe(2);
  expect(infos).toMatchObject([
    { recovered: true },
    { final: false },
    { recovered: true },
    { final: false },
    { recovered: true },
    { final: false },
    { recovered: false },
  ]);
  expect(ended).toEqual([]);
});

it('waits longer each time while the service is unreachable, and for a token as long as Retry-After says', async () => {
  jest.spyOn(Math, 'random').mockReturnValue(0);
  await open();
  for (const wait of [1, 2, 4, 8, 16, 30, 30]) {
    const before = FakeSocket.all.length;
    FakeSocket.last.happen('connect_error', new Error('xhr'));
    await seconds(wait - 0.1);
    expect(FakeSocket.all).toHaveLength(before);
    await seconds(0.1);
    expect(FakeSocket.all).toHaveLength(before + 1);
  }
  tokens = [new LatchkeyError('slow_down', undefined, 429, 77)];
  const before = FakeSocket.all.length;
  FakeSocket.last.happen('disconnect');
  await seconds(30 + 76);
  expect(FakeSocket.all).toHaveLength(before);
  await seconds(2);
  expect(FakeSocket.all).toHaveLength(before + 1);
});

it('answers token.expiring with a fresh token', async () => {
  await open();
  FakeSocket.last.receive('ready', ready(0));
  tokens = ['fresh', 'fresh', 'of another session'];
  FakeSocket.last.receive('token.expiring', { expires_at: '' });
  await seconds(0);
  expect(FakeSocket.last.sent).toEqual([['authenticate', { token: 'fresh' }, expect.any(Function)]]);
  FakeSocket.last.acknowledge({ error: 'server_error' }); // the database is away: the connection is as good as before, and a new one would be refused
  await seconds(4);
  expect(FakeSocket.last.sent).toHaveLength(1);
  await seconds(1);
  expect(FakeSocket.last.sent).toHaveLength(2); // tried again, until it is renewed or ended
  FakeSocket.last.acknowledge({ expires_at: '' });
  await seconds(60);
  expect(FakeSocket.last.sent).toHaveLength(2);
  FakeSocket.last.receive('token.expiring', { expires_at: '' });
  await seconds(0);
  expect([FakeSocket.all.length, FakeSocket.last.left]).toEqual([1, false]);
  FakeSocket.last.acknowledge({ error: 'invalid_token' }); // it is of another session: the channel starts again with that one
  await seconds(0.9);
  expect([FakeSocket.all.length, FakeSocket.last.left]).toEqual([1, false]); // the reason of a sign-out may come
  await seconds(0.2);
  expect(FakeSocket.all).toHaveLength(2);
});

it('shows no token a second time, but looks for another one until there is one', async () => {
  await open();
  FakeSocket.last.receive('ready', ready(0));
  tokens = ['token', 'token', 'fresh', 'fresh', 'newer'];
  FakeSocket.last.receive('token.expiring', { expires_at: '' }); // the life of a token is short, or no refresh succeeds
  await seconds(1.9);
  expect(FakeSocket.last.sent).toEqual([]);
  await seconds(0.1);
  expect(FakeSocket.last.sent).toEqual([['authenticate', { token: 'fresh' }, expect.any(Function)]]);
  FakeSocket.last.acknowledge({ expires_at: '' });
  FakeSocket.last.receive('token.expiring', { expires_at: '' });
  await seconds(1);
  expect(FakeSocket.last.sent.slice(1)).toEqual([['authenticate', { token: 'newer' }, expect.any(Function)]]);
  expect(FakeSocket.all).toHaveLength(1);
});

it('exchanges the token that it has shown last when its key was revoked', async () => {
  await open();
  FakeSocket.last.receive('ready', ready(0));
  tokens = ['fresh'];
  FakeSocket.last.receive('token.expiring', { expires_at: '' });
  await seconds(0);
  FakeSocket.last.acknowledge({ expires_at: '' });
  FakeSocket.last.receive('session.ended', { reason: 'revoked' });
  FakeSocket.last.happen('disconnect', 'transport close');
  await seconds(5);
  expect(refreshed).toEqual(['fresh']); // an older one would have been exchanged already, for this one
});

it('reconnects with another token after the key of its token was revoked, as soon as it has one', async () => {
  await open();
  FakeSocket.last.receive('ready', ready(7));
  answers = [new LatchkeyError('network')];
  FakeSocket.last.receive('session.ended', { reason: 'revoked' });
  FakeSocket.last.happen('disconnect', 'transport close');
  await seconds(5);
  expect(refreshed).toEqual(['token', 'token']); // the first request had no answer
  expect(FakeSocket.all).toHaveLength(2);
  expect(FakeSocket.last.auth).toEqual({ token: 'refreshed', offset: 7, id: 'e7' });
  FakeSocket.last.receive('ready', ready(7));
  FakeSocket.last.happen('disconnect', 'transport close');
  await seconds(5);
  expect(FakeSocket.last.auth).toEqual({ token: 'token', offset: 7, id: 'e7' }); // once is enough
  expect(refreshed).toHaveLength(2);
  expect(ended).toEqual([]);
});

it('exchanges a refused token once, and ends the session when the next one is refused', async () => {
  tokens = ['token', 'refreshed'];
  await open();
  FakeSocket.last.happen('connect_error', refusedToken);
  await seconds(0);
  expect(refreshed).toEqual(['token']);
  expect(FakeSocket.all).toHaveLength(2);
  expect(ended).toEqual([]);
  FakeSocket.last.happen('connect_error', refusedToken);
  await seconds(600);
  expect(ended).toEqual(['refused']);
  expect(FakeSocket.all).toHaveLength(2);
});

it('does not end the session when a refused token could not be exchanged, and waits before it tries again', async () => {
  tokens = ['token', 'token', 'refreshed'];
  answers = [new LatchkeyError('network')];
  await open();
  FakeSocket.last.happen('connect_error', refusedToken);
  await seconds(0);
  expect(FakeSocket.all).toHaveLength(1);
  await seconds(5);
  expect(FakeSocket.all).toHaveLength(2);
  FakeSocket.last.happen('connect_error', refusedToken);
  await seconds(5);
  expect(refreshed).toEqual(['token', 'token']);
  expect(FakeSocket.last.auth).toMatchObject({ token: 'refreshed' });
  expect(ended).toEqual([]);
});

it('does not end the session when the token that it got for a refused one was too old before it was used', async () => {
  tokens = ['token', 'after a sleep'];
  await open();
  FakeSocket.last.happen('connect_error', refusedToken);
  await seconds(0);
  FakeSocket.last.happen('connect_error', refusedToken);
  await seconds(0);
  expect(refreshed).toEqual(['token', 'after a sleep']);
  expect(FakeSocket.all).toHaveLength(3);
  expect(ended).toEqual([]);
});

it('forgets a refusal once it has been connected in between', async () => {
  tokens = ['token', 'refreshed', 'refreshed', 'refreshed'];
  await open();
  for (let round = 0; round < 3; round++) {
    FakeSocket.last.happen('connect_error', refusedToken);
    await seconds(0);
    FakeSocket.last.receive('ready', ready(0));
  }
  expect(ended).toEqual([]);
});

it('says once that it is over, also when it is closed while a token is on its way', async () => {
  const { channel, closed } = await open();
  FakeSocket.last.happen('connect_error', refusedToken);
  channel.close(); // as the end of a session does, which the refresh finds
  await seconds(60);
  expect(closed).toEqual([{ final: true }]);
  expect(FakeSocket.all).toHaveLength(1);
});

it('may be closed by a handler of the loss: all handlers get the loss, then the end, and there is no retry', async () => {
  const { channel } = await open();
  const infos: unknown[] = [];
  channel.on('disconnect', () => channel.close());
  channel.on('disconnect', (info) => infos.push(info));
  FakeSocket.last.receive('ready', ready(1));
  FakeSocket.last.happen('disconnect', 'transport close');
  expect(infos).toEqual([{ final: false }, { final: true }]);
  expect(jest.getTimerCount()).toBe(0);
});

describe('when the device wakes up', () => {
  const realm = globalThis as unknown as Record<string, unknown>;
  const EVENTS = ['visibilitychange', 'pageshow', 'online', 'focus'];
  let page: EventTarget;
  let document: { hidden: boolean };
  const wake = (event = 'visibilitychange'): boolean => page.dispatchEvent(new Event(event));

  beforeEach(() => {
    page = new EventTarget();
    realm['document'] = document = { hidden: false };
    realm['addEventListener'] = page.addEventListener.bind(page);
  });
  afterEach(() => {
    delete realm['document'];
    delete realm['addEventListener'];
  });

  async function connect(): Promise<Awaited<ReturnType<typeof open>>> {
    const made = await open();
    FakeSocket.last.receive('ready', ready(7));
    return made;
  }

  it.each(EVENTS)(
    'replaces a connection that is dead within 5 s of %s, and goes on from its offset',
    async (event) => {
      const { channel, closed } = await connect();
      await seconds(3600);
      expect(FakeSocket.last.sent).toEqual([]);
      wake(event);
      await seconds(4.1);
      expect(FakeSocket.all).toHaveLength(2);
      expect(FakeSocket.all[0]!.left).toBe(true);
      expect(FakeSocket.last.auth).toEqual({ token: 'token', offset: 7, id: 'e7' });
      expect(closed).toEqual([{ final: false }]);
      channel.close();
    },
  );

  it('keeps a connection with an answer after 3 s, or with an event before it', async () => {
    const { channel } = await connect();
    wake();
    await seconds(3.4);
    FakeSocket.last.acknowledge();
    await seconds(60);
    wake();
    await seconds(1);
    FakeSocket.last.receive('note', '', meta(8)); // before the answer: there may be much to deliver
    await seconds(60);
    expect([FakeSocket.all.length, FakeSocket.last.sent.length, channel.connected]).toEqual([1, 2, true]);
    channel.close();
  });

  it('ignores events that arrived before the probe', async () => {
    const { channel } = await connect();
    wake();
    FakeSocket.last.receive('note', '', meta(8));
    await seconds(4.1);
    expect(FakeSocket.all).toHaveLength(2);
    channel.close();
  });

  it('asks for each wake-up, and not more than twice a second', async () => {
    const { channel } = await connect();
    for (let tenth = 0; tenth < 100; tenth++) {
      for (const event of EVENTS) wake(event);
      await seconds(0.1);
      if (FakeSocket.last.sent.length > 0) FakeSocket.last.acknowledge();
    }
    expect(FakeSocket.last.sent.length).toBeGreaterThan(10);
    expect(FakeSocket.last.sent.length).toBeLessThanOrEqual(20);
    wake();
    await seconds(4.1);
    expect(FakeSocket.all).toHaveLength(2); // the answers before say nothing of this sleep
    channel.close();
  });

  it('asks nothing while the page is hidden, unless the network returns, nor once it is closed or lost', async () => {
    const { channel } = await connect();
    document.hidden = true;
    for (const event of EVENTS.filter((one) => one !== 'online')) wake(event);
    await seconds(10);
    expect(FakeSocket.last.sent).toEqual([]);
    wake('online');
    await seconds(1);
    expect(FakeSocket.last.sent).toEqual([['authenticate', {}, expect.any(Function)]]);
    FakeSocket.last.happen('disconnect', 'transport close');
    await seconds(2);
    FakeSocket.last.receive('ready', ready(7));
    await seconds(60);
    expect(FakeSocket.all).toHaveLength(2); // the probe of the other connection is over
    document.hidden = false;
    wake();
    channel.close();
    wake();
    await seconds(60);
    expect([FakeSocket.all.length, FakeSocket.last.sent.length, jest.getTimerCount()]).toEqual([2, 0, 0]);
  });
});
