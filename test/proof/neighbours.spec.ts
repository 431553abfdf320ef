import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { roomWithin } from '../../src/http/open-files.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { isFull } from '../support/proof.js';
import { Instance } from '../soak/instance.js';
import { signIn } from '../support/sign-in.js';
import { descriptorLimit, insertSessions, pin } from '../support/storm.js';
import { StubProvider } from '../support/stub-provider.js';
import { Flood, requestText, type FloodCounts } from './neighbours/flood.js';
import { manyAtOnce } from './neighbours/limits.js';
import { Refreshes } from './neighbours/refreshes.js';
import { reportRounds, type Round } from './neighbours/rounds.js';
import { stormRound } from './neighbours/storm.js';

const ROUNDS = isFull ? 3 : 1;
const WINDOW_MS = isFull ? 10_000 : 500;
const PER_SECOND = isFull ? 200 : 50;
const FLOOD_PER_SECOND = isFull ? 2000 : 200;
const PUSHES_PER_SECOND = isFull ? 1000 : 100;
const HANGING = 100;
const EXCHANGE_MS = 5000; // then the service gives up (contract §6)
const SIGN_INS = 200;
const SPARE = 500; // of the descriptors: for refreshes, connections of the disturbances before, and sockets that are still closing
const SOCKETS = Math.min(20_000, roomWithin(descriptorLimit(), 10).sockets - SPARE);
const WARM_MS = isFull ? 5000 : 300;
const USERS = 2000;
const SERVICE_KEY = 'a-service-key-of-more-than-thirty-two-characters';
const STRANGER = { 'X-Forwarded-For': '192.0.2.66' };

const full = isFull ? it : it.skip;
if (isFull) jest.setTimeout(600_000);

interface Disturbance {
  readonly end: () => Promise<unknown>;
}

/** What one user feels of another (P12, P14): how long refreshes wait, quiet and while somebody else does much. */
describe('refreshes of others', () => {
  let database: TestDatabase;
  let stub: StubProvider;
  let service: Instance;
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-neighbours-'));
  let refreshTokens: string[];
  let refreshes: Refreshes;
  const ends: (() => unknown)[] = [];

  const portOf = ({ url }: Instance): number => Number(new URL(url).port);

  beforeAll(async () => {
    database = await createDatabase();
    stub = await StubProvider.start();
    refreshTokens = await insertSessions(database.url, isFull ? Math.max(SOCKETS, USERS) : 20);
    service = await start(0);
    refreshes = new Refreshes();
    await refreshes.start(portOf(service), refreshTokens.slice(0, USERS), PER_SECOND, WARM_MS);
  });
  afterAll(async () => {
    refreshes?.close();
    for (const end of ends) end();
    service?.child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
    await stub?.close();
    await database?.drop();
  });

  async function start(processor: number): Promise<Instance> {
    // With nothing of a test in it: each answer that is told to Jest would be a part of what is measured.
    const started = await Instance.start(`instance-${processor}`, directory, {
      ...stub.env(),
      DATABASE_URL: database.url,
      SECRET_KEY: '5e'.repeat(32),
      PUBLIC_URL: 'http://localhost:3000',
      TRUST_PROXY: 'loopback',
      RATE_LIMIT: 'on',
      SERVICE_KEYS: SERVICE_KEY,
      LOG_LEVEL: 'info',
      DEMO_ENABLED: 'false',
    });
    if (isFull) pin(started.child.pid!, processor);
    return started;
  }

  /** Quiet, disturbed, quiet; some times. */
  async function rounds(disturb: () => Promise<Disturbance>): Promise<Round[]> {
    const all: Round[] = [];
    for (let i = 0; i < ROUNDS; i++) {
      const before = await refreshes.during(WINDOW_MS);
      const disturbance = await disturb();
      await delay(WINDOW_MS / 10); // until it is at its height
      const during = await refreshes.during(WINDOW_MS);
      await disturbance.end();
      await delay(WINDOW_MS / 10);
      all.push([before, during, await refreshes.during(WINDOW_MS)]);
    }
    expect(all.flat().reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(0);
    expect(all.flat().map(({ failed }) => failed)).toEqual(all.flat().map(() => 0));
    return all;
  }

  /** Some at a time do the same again and again, until told to end; they begin spread over a time. */
  function again(atOnce: number, work: () => Promise<unknown>, withinMs = 0): Disturbance {
    const over = new AbortController();
    const one = async (i: number): Promise<void> => {
      await delay((withinMs * i) / atOnce);
      while (!over.signal.aborted) await work();
    };
    const all = Promise.all(Array.from({ length: atOnce }, (_, i) => one(i)));
    return {
      end: () => {
        over.abort();
        return all;
      },
    };
  }

  const exchange = (state: string, code: string, from: string): Promise<Response> =>
    fetch(`${service.url}/oauth2/token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': from },
      body: JSON.stringify({ code, state }),
    });

  /** An address for which nothing has been counted yet. */
  let addresses = 0;
  const newAddress = (): string => `10.64.${++addresses >> 8}.${addresses & 255}`;
  const authorize = async (from: string): Promise<string | undefined> => {
    const url = `${service.url}/oauth2/authorize?provider=stub`;
    return ((await (await fetch(url, { headers: { 'X-Forwarded-For': from } })).json()) as { state?: string })
      .state;
  };

  full('while exchanges hang at the provider', async () => {
    const statuses = new Map<number, number>();
    const found = await rounds(async () => {
      stub.answer = () => undefined;
      const hanging = again(
        HANGING,
        async () => {
          const from = newAddress();
          const state = await authorize(from);
          if (state === undefined) return;
          const { status } = await exchange(state, 'c', from);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        },
        EXCHANGE_MS,
      );
      await delay(EXCHANGE_MS); // until all hang
      return {
        end: async () => {
          await hanging.end();
          stub.reset();
        },
      };
    });
    reportRounds(`${HANGING} exchanges hang at the provider`, found);
    expect(statuses.has(200)).toBe(false);
    expect(statuses.get(500)).toBeGreaterThanOrEqual(HANGING * ROUNDS); // each was given up after 5 s
  });

  it('while one address exceeds all its limits', async () => {
    const flood = new Flood();
    ends.push(() => flood.close());
    const socket = '/socket.io/?EIO=4&transport=websocket';
    const upgrade = { Upgrade: 'websocket', Connection: 'Upgrade', 'Sec-WebSocket-Version': '13' };
    const key = { 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==' };
    const counts: FloodCounts[] = [];
    const found = await rounds(async () => {
      await flood.start({
        port: portOf(service),
        perSecond: FLOOD_PER_SECOND,
        requests: [
          requestText('GET', '/oauth2/authorize?provider=stub', STRANGER),
          requestText('POST', '/oauth2/token', STRANGER, { code: 'c', state: 'ab'.repeat(32) }),
          requestText('POST', '/oauth2/refresh', STRANGER, { refresh_token: 'unknown' }),
          requestText('GET', '/me', { ...STRANGER, Authorization: 'Bearer e30.e30.e30' }),
        ],
        oneEach: [requestText('GET', socket, { ...STRANGER, ...upgrade, ...key })],
      });
      return { end: async () => counts.push(await flood.end()) };
    });
    const refused = counts.reduce((sum, { statuses }) => sum + (statuses['429'] ?? 0), 0);
    const left = counts.reduce((sum, one) => sum + one.left, 0);
    const notes = `${refused} requests of the stranger answered with 429, ${left} not sent for want of a connection`;
    reportRounds(`one address sends ${FLOOD_PER_SECOND} requests a second`, found, notes);
    if (isFull) expect(refused).toBeGreaterThan(FLOOD_PER_SECOND * ROUNDS);
  });

  full('while one user signs in again and again, many at once', async () => {
    const statuses = new Map<number, number>();
    const found = await rounds(async () =>
      again(1, async () => {
        const from = newAddress();
        const states = await manyAtOnce(SIGN_INS, 20, () => authorize(from));
        for (const { status } of await Promise.all(
          states.map((state) => exchange(state ?? '', 'one user', from)),
        ))
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await delay(100);
      }),
    );
    reportRounds(
      `one user signs in ${SIGN_INS} times at once, again and again`,
      found,
      `${statuses.get(200)} sign-ins`,
    );
    expect(statuses.get(200)).toBeGreaterThan(0);
  });

  it('while one user is flooded with pushes', async () => {
    const flood = new Flood();
    ends.push(() => flood.close());
    const { user_id } = await signIn(service.url, randomUUID());
    const push = { user_id, event: 'flood', data: { text: 'x'.repeat(100) } };
    const counts: FloodCounts[] = [];
    const found = await rounds(async () => {
      const requests = [requestText('POST', '/push', { Authorization: `Bearer ${SERVICE_KEY}` }, push)];
      await flood.start({ port: portOf(service), perSecond: PUSHES_PER_SECOND, requests });
      return { end: async () => counts.push(await flood.end()) };
    });
    const told = counts.reduce((sum, { statuses }) => sum + (statuses['202'] ?? 0), 0);
    reportRounds(`a backend pushes ${PUSHES_PER_SECOND} times a second to one user`, found, `${told} pushes`);
    expect([told > 0, counts.flatMap(({ statuses }) => Object.keys(statuses))]).toEqual([
      true,
      counts.map(() => '202'),
    ]);
  });

  full('while sockets come back from an instance that has stopped', async () => {
    const tokens = await accessTokens();
    const found: Round[] = [];
    const took: string[] = [];
    for (let i = 0; i < ROUNDS; i++) {
      const leaving = await start(1);
      ends.push(() => leaving.child.kill('SIGKILL'));
      const end = (): Promise<unknown> => {
        setPriority(leaving.child.pid!, 19);
        return leaving.stop();
      };
      const { round, seconds, refusals } = await stormRound(
        { port: portOf(leaving), end },
        portOf(service),
        tokens,
        refreshes,
        WINDOW_MS,
      );
      expect(refusals).toEqual({});
      found.push(round);
      took.push(seconds.toFixed(1));
    }
    reportRounds(`${SOCKETS} sockets come back`, found, `all were back after ${took.join(', ')} s`);
    expect(found.flat().map(({ failed }) => failed)).toEqual(found.flat().map(() => 0));
  });

  full('while sockets come back to a bare server, for comparison', async () => {
    const found: Round[] = [];
    const serving = await floor(0);
    const own = new Refreshes();
    ends.push(() => own.close());
    await own.start(serving.port, refreshTokens.slice(0, USERS), PER_SECOND, WARM_MS);
    const took: string[] = [];
    for (let i = 0; i < ROUNDS; i++) {
      const { round, seconds } = await stormRound(
        await floor(1),
        serving.port,
        refreshTokens.slice(0, SOCKETS),
        own,
        WINDOW_MS,
      );
      found.push(round);
      took.push(seconds.toFixed(1));
    }
    const what = `${SOCKETS} sockets come back to a bare node:http server, without a queue, tokens or a database`;
    reportRounds(what, found, `all were back after ${took.join(', ')} s`, false);
  });

  async function floor(processor: number): Promise<{ port: number; end: () => Promise<unknown> }> {
    const child: ChildProcess = fork(fileURLToPath(new URL('neighbours/floor-server.mjs', import.meta.url)), {
      execArgv: [],
    });
    ends.push(() => child.kill('SIGKILL'));
    const [port] = (await once(child, 'message')) as [number];
    pin(child.pid!, processor);
    return { port, end: async () => child.kill('SIGKILL') };
  }

  async function accessTokens(): Promise<string[]> {
    return manyAtOnce(SOCKETS, 64, async (i) => {
      const response = await fetch(`${service.url}/oauth2/refresh`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': newAddress() },
        body: JSON.stringify({ refresh_token: refreshTokens[i] }),
      });
      return ((await response.json()) as { access_token: string }).access_token;
    });
  }
});
