import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import request from 'supertest';
import { DataSource } from 'typeorm';
import { KeyStore } from '../../src/token/keys/key.store.js';
import { endSessions } from '../../src/device/end-sessions.js';
import { bearer, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { EventStreamReader } from '../support/event-stream.js';
import { query } from '../support/database.js';
import { startServiceProcess } from '../support/service-process.js';
import { SERVICE_KEY as KEY } from '../support/service.js';
import { use, useInstances } from '../support/use.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/waiting.js';

/** Session revocation feed (docs/ended-sessions.md#a-reader): three instances on one database. */
describe('GET /sessions/ended', () => {
  const readers: EventStreamReader[] = [];

  const { provider, here, there } = useInstances({ SERVICE_KEYS: `read:${KEY}` });
  const proxy = use(
    () => TcpProxy.before(here.databaseUrl),
    (one) => one.refuse(),
  );
  const behind = use(() => here.another({ DATABASE_URL: proxy.through(here.databaseUrl) }));
  const instances = [here, there, behind];
  afterEach(() => readers.splice(0).forEach((reader) => reader.close()));

  const urlOf = (i: number) => instances[i]!.url;
  async function connect(i: number, lastEventId?: string): Promise<EventStreamReader> {
    const reader = await EventStreamReader.open(urlOf(i), KEY, lastEventId);
    readers.push(reader);
    return reader;
  }
  async function read(i: number, lastEventId?: string): Promise<EventStreamReader> {
    const reader = await connect(i, lastEventId);
    await until(() => reader.isReady);
    return reader;
  }
  const sidOf = ({ access_token }: Tokens) => claimsOf(access_token)['sid'] as string;
  async function end(tokens: Tokens, i = 0): Promise<string> {
    await bearer(urlOf(i), tokens.access_token).post('/sign-out').expect(204);
    return sidOf(tokens);
  }
  const endOne = async (i = 0): Promise<string> => end(await signIn(urlOf(i)), i);
  const sql = (text: string, values: unknown[] = []) => query(instances[0]!.databaseUrl, text, values);
  /** Waits for a reading that begins after now. @returns its cursor */
  async function nextCursor(reader: EventStreamReader): Promise<string> {
    const before = reader.readings.length;
    await until(() => reader.readings.length >= before + 2);
    return reader.lastEventId;
  }

  it('sends session, user, device and time of each sign-out', async () => {
    const reader = await read(1);
    const device = randomUUID();
    const [on, without] = [
      await signIn(urlOf(0), randomUUID(), { device_id: device }),
      await signIn(urlOf(0)),
    ];
    const began = Date.now();
    await end(on);
    await end(without);
    await until(() => reader.sessions.includes(sidOf(without)));
    const [first, second] = reader
      .of('ended')
      .filter(({ session_id }) => [on, without].some((one) => sidOf(one) === session_id));
    expect(first).toEqual({
      session_id: sidOf(on),
      user_id: on.user_id,
      device_id: device,
      ended_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      until: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(second).toMatchObject({ session_id: sidOf(without), device_id: null });
    expect(Math.abs(Date.parse(first!['ended_at']!) - began)).toBeLessThan(5000);
  });

  it('has the headers of a stream; HEAD has only these', async () => {
    const reader = await connect(0);
    const head = await EventStreamReader.ask(urlOf(0), KEY, undefined, { method: 'HEAD' });
    for (const { statusCode, headers } of [reader.response, head]) {
      expect(statusCode).toBe(200);
      expect(headers).toMatchObject({
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      });
    }
    head.resume();
    await until(() => head.complete);
  });

  it('a sign-out on one instance is sent by the others within a second: the worst of 8', async () => {
    const others = [await read(1), await read(2)];
    const all = await Promise.all(Array.from({ length: 8 }, () => signIn(urlOf(0))));
    const signedOut = new Map<string, number>();
    let slowest = 0;
    for (const tokens of all) {
      const began = performance.now();
      await end(tokens);
      signedOut.set(sidOf(tokens), performance.now());
      slowest = Math.max(slowest, performance.now() - began);
      await delay(25); // to meet all moments between two readings
    }
    const late: number[] = [];
    for (const reader of others) {
      await until(() => all.every((tokens) => reader.sessions.includes(sidOf(tokens))));
      for (const { data, at } of reader.events) {
        const ended = signedOut.get(data['session_id'] ?? '');
        if (ended !== undefined) late.push(at - ended);
      }
    }
    expect(late).toHaveLength(16); // once by each instance
    const worst = Math.max(...late);
    process.stdout.write(`sent by another instance after ${worst.toFixed(0)} ms at worst, of 8 sign-outs\n`);
    expect(worst).toBeLessThan(1000 + 5 * slowest);
  });

  describe('a reader that comes back', () => {
    it('gets from another instance what has ended in between, and not everything again', async () => {
      const reader = await read(0);
      const old = await endOne();
      await sql(
        `UPDATE refresh_tokens SET signed_out_at = signed_out_at - interval '1 hour' WHERE session_id = $1`,
        [old],
      );
      const cursor = await nextCursor(reader);
      reader.close();
      const between = [await endOne(), await endOne(1)];
      const back = await read(2, cursor);
      expect(back.sessions).toEqual(expect.arrayContaining(between));
      expect(back.sessions).not.toContain(old);
      const later = await endOne();
      await until(() => back.sessions.includes(later));
    });

    it('gets a session whose commit took seconds and came after it was back', async () => {
      const late = await signIn(urlOf(0));
      const session = { userId: late.user_id, sessionId: sidOf(late), deviceId: null };
      const reader = await read(0);
      let back!: EventStreamReader;
      await instances[0]!.app.get(DataSource).transaction(async (manager) => {
        const began = performance.now();
        await endSessions(manager, { ...session, scope: 'session' });
        const cursor = await nextCursor(reader); // taken during the transaction
        expect(reader.sessions).not.toContain(session.sessionId);
        reader.close();
        back = await read(1, cursor);
        // Longer than each reading covers in any case; an idle transaction would be ended.
        for (; performance.now() - began < 6500; await delay(500)) await manager.query('SELECT');
      });
      await until(() => back.sessions.includes(session.sessionId));
      const [told] = back.of('ended').filter(({ session_id }) => session_id === session.sessionId);
      // Its tokens could be refreshed until the commit.
      expect(Date.parse(told!['until']!)).toBeGreaterThan(Date.now() + 3_600_000);
    });
  });

  describe('until', () => {
    const tolds = (reader: EventStreamReader, sid: string) =>
      reader
        .of('ended')
        .filter(({ session_id }) => session_id === sid)
        .map((data) => Date.parse(data['until']!) / 1000);

    it('is after the last expiry, also if tokens live shorter since a restart', async () => {
      const tokens = await signIn(urlOf(0));
      const brief = await here.another({ ACCESS_TOKEN_TTL: '60' });
      try {
        instances.push(brief);
        const both = [await read(0), await read(3)];
        const sid = await end(tokens, 3);
        for (const reader of both) {
          await until(() => reader.sessions.includes(sid));
          const [told] = tolds(reader, sid);
          expect(told).toBeGreaterThan(claimsOf(tokens.access_token)['exp'] as number);
          expect(told).toBeLessThan((claimsOf(tokens.access_token)['exp'] as number) + 120);
        }
      } finally {
        instances.pop();
        await brief.close();
      }
    });

    it('is after the expiry of tokens that were refreshed during the sign-out', async () => {
      const both = [await read(0), await read(1)];
      const race = async (): Promise<[sid: string, exp: number]> => {
        const tokens = await signIn(urlOf(0));
        const refresh = (_: unknown, i: number) =>
          request(urlOf(i % 2))
            .post('/oauth2/refresh')
            .send(tokens);
        const [, ...answers] = await Promise.all([end(tokens, 1), ...Array.from({ length: 6 }, refresh)]);
        const got = answers.filter(({ status }) => status === 200).map(({ body }) => body as Tokens);
        const expiries = [tokens, ...got].map(({ access_token }) => claimsOf(access_token)['exp'] as number);
        return [sidOf(tokens), Math.max(...expiries)];
      };
      const rounds: [sid: string, exp: number][] = [];
      for (let round = 0; round < 4; round++) rounds.push(await race());
      for (const reader of both) {
        await until(() => rounds.every(([sid]) => reader.sessions.includes(sid)));
        for (const [sid, exp] of rounds) expect(Math.min(...tolds(reader, sid))).toBeGreaterThanOrEqual(exp);
      }
    });
  });

  it('a revoked key is sent to open streams and to later ones', async () => {
    const listening = [await read(0), await read(1)];
    const store = instances[0]!.app.get(KeyStore);
    const { access_token } = await signIn(urlOf(0));
    const { kid } = JSON.parse(Buffer.from(access_token.split('.')[0]!, 'base64url').toString()) as {
      kid: string;
    };
    await store.revoke(kid);
    for (const reader of listening)
      await until(() => reader.of('key_revoked').some((data) => data['kid'] === kid));
    const later = await read(1, listening[0]!.lastEventId);
    expect(later.events.map(({ event }) => event)).toEqual(expect.arrayContaining(['key_revoked', 'ready']));
    expect(later.of('key_revoked')).toEqual([{ kid }]);
  });

  it('while the database is unavailable, streams stay open and silent; then they continue without a gap', async () => {
    const reader = await read(2);
    await nextCursor(reader);
    await proxy.refuse();
    const silentSince = performance.now();
    await expect(EventStreamReader.open(urlOf(2), KEY)).rejects.toThrow(/^500 .*the database is unavailable/);
    const ended = await endOne();
    await until(() => performance.now() - silentSince > 1500);
    expect(reader.readings.filter((at) => at > silentSince + 100)).toEqual([]);
    await proxy.restore();
    await until(() => reader.sessions.includes(ended));
    await nextCursor(reader);
  });

  it('at SIGTERM streams continue until the listener closes, then end; the process exits with 0', async () => {
    const service = await startServiceProcess({
      ...provider.env(),
      PUBLIC_URL: here.url,
      SERVICE_KEYS: `read:${KEY}`,
      DATABASE_URL: here.databaseUrl,
      SHUTDOWN_DELAY: '5', // a busy machine needs a second for a sign-out
      DATA_DIR: '/nonexistent',
    });
    const reader = await EventStreamReader.open(service.url, KEY);
    const slow = await EventStreamReader.open(service.url, KEY);
    readers.push(reader, slow);
    await until(() => reader.isReady && slow.isReady);
    slow.stopReading();
    const tokens = await signIn(urlOf(0)); // before the delay, which a busy machine needs for a sign-out
    const began = performance.now();
    const exit = service.end('SIGTERM');
    const ended = await end(tokens);
    await until(() => reader.sessions.includes(ended));
    expect(await reader.ended).toBe(true); // in order
    expect(performance.now() - began).toBeGreaterThan(4950);
    expect(await exit).toBe(0);
    expect(performance.now() - began).toBeLessThan(13_000); // `slow` is cut off
    const back = await read(0, reader.lastEventId);
    expect(back.sessions).toContain(ended); // may be sent twice
  });
});
