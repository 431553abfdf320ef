import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { needs } from '../support/installed.js';
import { isFull } from '../support/proof.js';
import { pin, unpin } from '../support/storm.js';
import { until } from '../support/until.js';
import { Flood, requestText, type FloodCounts } from './neighbours/flood.js';
import { manyAtOnce } from './neighbours/limits.js';
import { inRounds, reportRounds, ROUNDS, type Round } from './neighbours/rounds.js';
import { again, portOf, Scene, SERVICE_KEY, SOCKETS, WINDOW_MS } from './neighbours/scene.js';
import { stormRound } from './neighbours/storm.js';

const FLOOD_PER_SECOND = isFull ? 2000 : 200;
const PUSHES_PER_SECOND = isFull ? 1000 : 100;
const HANGING = isFull ? 100 : 20; // more than the pool has connections
const EXCHANGE_MS = 5000; // then the service gives up (contract §6)
const PER_SECOND = (HANGING * 1000) / EXCHANGE_MS;
const SIGN_INS = 200;
const STRANGER = { 'X-Forwarded-For': '192.0.2.66' };

const full = needs({ 'npm run test:proof': isFull }).it;
/** Whose loopback has many addresses, as the clients need (storm-clients.mjs). */
const onLinux = needs({ Linux: process.platform === 'linux' }).it;
if (isFull) jest.setTimeout(1_200_000);

/** What one user feels of another (P12, P14): how long refreshes wait, quiet and while somebody else does much. */
describe('refreshes of others', () => {
  let scene: Scene;

  beforeAll(async () => {
    scene = await Scene.begin();
  });
  afterAll(() => scene?.end());

  it('while exchanges hang at the provider', async () => {
    const { stub } = scene;
    const statuses = new Map<number, number>();
    const found = await scene.during(async () => {
      const held: ServerResponse[] = [];
      stub.answer = (_request, response) => void held.push(response);
      const hanging = again(
        HANGING,
        async () => {
          const from = scene.newAddress();
          const state = await scene.authorize(from);
          if (state === undefined) return;
          const { status } = await scene.exchange(state, 'c', from);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        },
        isFull ? EXCHANGE_MS : 0,
      );
      await until(() => held.length >= HANGING); // all hang
      return {
        end: async () => {
          const over = hanging.end();
          if (!isFull) for (const response of held) response.destroy(); // in full each is given up after 5 s
          await over;
          stub.reset();
        },
      };
    });
    reportRounds(`${HANGING} exchanges hang at the provider`, found, { promise: 'judged' });
    expect(statuses.has(200)).toBe(false);
    expect(statuses.get(500)).toBeGreaterThanOrEqual(HANGING * ROUNDS);
  });

  full('while as many sign-ins are refused at once, for comparison', async () => {
    const { stub } = scene;
    const statuses = new Map<number, number>();
    const found = await scene.during(async () => {
      stub.answerWith(400, { error: 'invalid_grant' });
      const refused = again(
        PER_SECOND,
        async () => {
          const from = scene.newAddress();
          const state = await scene.authorize(from);
          if (state === undefined) return;
          const [{ status }] = await Promise.all([scene.exchange(state, 'c', from), delay(1000)]);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        },
        1000,
      );
      await delay(EXCHANGE_MS);
      return {
        end: async () => {
          await refused.end();
          stub.reset();
        },
      };
    });
    const what = `the provider refuses ${PER_SECOND} exchanges a second at once, as many as are given up where they hang`;
    reportRounds(what, found);
    expect([...statuses.keys()]).toEqual([401]);
  });

  it('while one address exceeds all its limits', async () => {
    const socket = '/socket.io/?EIO=4&transport=websocket';
    const upgrade = { Upgrade: 'websocket', Connection: 'Upgrade', 'Sec-WebSocket-Version': '13' };
    const key = { 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==' };
    const { found, counts } = await flooded({
      perSecond: FLOOD_PER_SECOND,
      requests: [
        requestText('GET', '/oauth2/authorize?provider=stub', STRANGER),
        requestText('POST', '/oauth2/token', STRANGER, { code: 'c', state: 'ab'.repeat(32) }),
        requestText('POST', '/oauth2/refresh', STRANGER, { refresh_token: 'unknown' }),
        requestText('GET', '/me', { ...STRANGER, Authorization: 'Bearer e30.e30.e30' }),
      ],
      oneEach: [requestText('GET', socket, { ...STRANGER, ...upgrade, ...key })],
    });
    const refused = counts.reduce((sum, { statuses }) => sum + (statuses['429'] ?? 0), 0);
    const left = counts.reduce((sum, one) => sum + one.left, 0);
    const notes = `${refused} requests of the stranger answered with 429, ${left} not sent for want of a connection`;
    const what = `one address sends ${FLOOD_PER_SECOND} requests a second`;
    reportRounds(what, found, { notes, promise: 'judged' });
    if (isFull) expect(refused).toBeGreaterThan(FLOOD_PER_SECOND * ROUNDS);
  });

  full('while one user signs in again and again, many at once', async () => {
    const statuses = new Map<number, number>();
    const found = await scene.during(async () =>
      again(1, async () => {
        const from = scene.newAddress();
        const states = await manyAtOnce(SIGN_INS, 20, () => scene.authorize(from));
        for (const { status } of await Promise.all(
          states.map((state) => scene.exchange(state ?? '', 'one user', from)),
        ))
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await delay(100);
      }),
    );
    const what = `one user signs in ${SIGN_INS} times at once, again and again`;
    reportRounds(what, found, { notes: `${statuses.get(200)} sign-ins` });
    expect(statuses.get(200)).toBeGreaterThan(0);
  });

  it('while one user is flooded with pushes', async () => {
    const push = { user_id: await scene.userId(), event: 'flood', data: { text: 'x'.repeat(100) } };
    const requests = [requestText('POST', '/push', { Authorization: `Bearer ${SERVICE_KEY}` }, push)];
    const { found, counts } = await flooded({ perSecond: PUSHES_PER_SECOND, requests });
    const told = counts.reduce((sum, { statuses }) => sum + (statuses['202'] ?? 0), 0);
    const what = `a backend pushes ${PUSHES_PER_SECOND} times a second to one user`;
    reportRounds(what, found, { notes: `${told} pushes` });
    expect(told).toBeGreaterThan(0);
    const others = counts.flatMap(({ firsts }) =>
      Object.values(firsts).filter((one) => !one.includes(' 202 ')),
    );
    expect(others).toEqual([]);
  });

  onLinux('while sockets come back from an instance that has stopped', async () => {
    const tokens = await scene.accessTokens();
    const took: string[] = [];
    let later = 0;
    const found = await inRounds(async () => {
      const leaving = await scene.start(1);
      const end = (): Promise<unknown> => {
        setPriority(leaving.child.pid!, 19);
        return leaving.stop();
      };
      const { round, seconds, refusals } = await stormRound(
        { port: portOf(leaving), end },
        portOf(scene.service),
        tokens,
        scene.refreshes,
        WINDOW_MS,
      );
      const { 429: slowDown = 0, ...others } = refusals;
      expect(others).toEqual({});
      later += slowDown; // after 10 s in the queue (docs/security.md)
      took.push(seconds.toFixed(1));
      return round;
    });
    const notes = `all were back after ${took.join(', ')} s; ${later} handshakes were told to come later`;
    reportRounds(`${SOCKETS} sockets come back`, found, { notes, promise: 'told' });
  });

  full('while sockets come back to a bare server, for comparison', async () => {
    const serving = await bareServer(0);
    const own = await scene.refresh(serving.port);
    const took: string[] = [];
    const found = await inRounds(async () => {
      const leaving = await bareServer(1);
      const tokens = scene.refreshTokens.slice(0, SOCKETS);
      const { round, seconds } = await stormRound(leaving, serving.port, tokens, own, WINDOW_MS);
      took.push(seconds.toFixed(1));
      return round;
    });
    const what = `${SOCKETS} sockets come back to a bare node:http server, without a queue, tokens or a database`;
    reportRounds(what, found, { notes: `all were back after ${took.join(', ')} s` });
  });

  async function flooded(
    order: Omit<Parameters<Flood['start']>[0], 'port'>,
  ): Promise<{ found: Round[]; counts: FloodCounts[] }> {
    const flood = new Flood();
    scene.atEnd(() => flood.close());
    const counts: FloodCounts[] = [];
    const found = await scene.during(async () => {
      await flood.start({ port: portOf(scene.service), ...order });
      return { end: async () => counts.push(await flood.end()) };
    });
    return { found, counts };
  }

  async function bareServer(processor: number): Promise<{ port: number; end: () => Promise<unknown> }> {
    const script = fileURLToPath(new URL('neighbours/floor-server.mjs', import.meta.url));
    const child: ChildProcess = fork(script, { execArgv: [] });
    scene.atEnd(() => child.kill('SIGKILL'));
    const [port] = (await once(child, 'message')) as [number];
    unpin(child.pid!); // as Scene.start
    pin(child.pid!, String(processor), { mainThreadOnly: true });
    return { port, end: async () => child.kill('SIGKILL') };
  }
});
