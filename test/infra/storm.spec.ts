import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { createDatabase, type TestDatabase, query } from '../support/database.js';
import { needs } from '../support/installed.js';
import { startServiceProcess, type ServiceProcess } from '../support/service-process.js';
import { insertSessions } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { isFull } from './faults.js';

const SPARE = 300; // of the descriptors: for the database, refreshes, and sockets that are still closing
const SOCKETS = Math.min(20_000, Math.floor((descriptorLimit() * 15) / 16) - SPARE); // src/realtime/handshakes/open-files.ts
const REFRESHES_AT_ONCE = 8;

/** After a restart of one instance, all of its sockets come to another, which serves refreshes at that time. */
needs({ 'test:all -- infra, in full': isFull }).describe('a storm of reconnects', () => {
  let database: TestDatabase;
  let leaving: ServiceProcess;
  let serving: ServiceProcess;
  let crowd: StormCrowd | undefined;
  let refreshTokens: string[];

  beforeAll(async () => {
    database = await createDatabase();
    const env = {
      DATABASE_URL: database.url,
      HOST: '0.0.0.0', // clients come to several addresses of the machine (storm-clients.mjs)
      PUBLIC_URL: 'http://localhost:3000',
      TRUST_PROXY: 'loopback',
      DEMO_ENABLED: 'false',
    };
    refreshTokens = await insertSessions(database.url, SOCKETS);
    [leaving, serving] = [await startServiceProcess(env), await startServiceProcess(env)];
  });
  afterAll(async () => {
    crowd?.close();
    await Promise.all([leaving?.end('SIGKILL'), serving?.end('SIGKILL')]);
    await database?.close();
  });

  const portOf = ({ url }: ServiceProcess): number => Number(new URL(url).port);
  const refresh = (at: ServiceProcess, i: number): Promise<Response> =>
    fetch(`${at.url}/oauth2/refresh`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ refresh_token: refreshTokens[i % SOCKETS] }),
    });

  async function accessTokens(): Promise<string[]> {
    const tokens: string[] = [];
    let next = 0;
    const one = async (): Promise<void> => {
      for (let i = next++; i < SOCKETS; i = next++)
        tokens[i] = ((await (await refresh(leaving, i)).json()) as { access_token: string }).access_token;
    };
    await Promise.all(Array.from({ length: 64 }, one));
    return tokens;
  }

  it('no refresh fails, every client is back and online', async () => {
    crowd = new StormCrowd(await accessTokens());
    await crowd.connect(portOf(leaving));
    const statuses: number[] = [];
    const storm = { isOver: false };
    const refreshing = Array.from({ length: REFRESHES_AT_ONCE }, async (_, line) => {
      for (let i = line; !storm.isOver; i += REFRESHES_AT_ONCE) {
        const response = await refresh(serving, i);
        await response.arrayBuffer();
        statuses.push(response.status);
      }
    });

    crowd.forget();
    crowd.target(portOf(serving));
    const began = performance.now();
    setPriority(leaving.child.pid!, 19);
    const [code] = await Promise.all([leaving.end('SIGTERM'), crowd.untilReady()]);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    storm.isOver = true;
    await Promise.all(refreshing);
    const counts = await crowd.counts();
    process.stdout.write(
      `  ${SOCKETS} sockets back in ${seconds} s, beside ${statuses.length} refreshes: ${JSON.stringify(counts)}\n`,
    );
    const { 429: _later, ...refusals } = counts.refusals; // on a busy machine too many wait for a handshake
    expect([code, refusals]).toEqual([0, {}]);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    const online = `SELECT count(*)::int AS rows, count(DISTINCT user_id)::int AS users, count(DISTINCT instance_id)::int AS instances FROM presence`;
    const all = JSON.stringify([{ rows: SOCKETS, users: SOCKETS, instances: 1 }]);
    await until(async () => JSON.stringify(await query(database.url, online)) === all);
  });
});

/** The soft limit of open files that this process and its children have. */
function descriptorLimit(): number {
  const { userLimits } = process.report.getReport() as unknown as {
    userLimits: { open_files: { soft: number | 'unlimited' } };
  };
  const { soft } = userLimits.open_files;
  return soft === 'unlimited' ? Infinity : soft;
}

interface StormCounts {
  readonly ready: number;
  readonly attempts: number;
  readonly refusals: Readonly<Record<string, number>>;
}

const PROCESSES = 2;
const SCRIPT = fileURLToPath(new URL('storm-clients.mjs', import.meta.url));

/** Many sockets that reconnect (storm-clients.mjs), in processes of low priority. */
class StormCrowd {
  private readonly children = Array.from({ length: PROCESSES }, (): ChildProcess =>
    spawn('nice', ['-n', '19', process.execPath, SCRIPT], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
  );

  /** @param tokens one for each socket */
  constructor(private readonly tokens: readonly string[]) {}

  /** Resolves when all are connected, some at a time, to a port. */
  async connect(port: number, atOnce = 50): Promise<void> {
    this.target(port);
    const share = Math.ceil(this.tokens.length / PROCESSES);
    this.children.forEach((one, i) => {
      const from = i * share;
      one.send({ do: 'connect', from, tokens: this.tokens.slice(from, from + share), atOnce });
    });
    await this.untilReady();
  }

  /** From now on they come back to this port. */
  target(port: number): void {
    for (const one of this.children) one.send({ do: 'target', port });
  }

  /** Resets the counts, except that of ready sockets. */
  forget(): void {
    for (const one of this.children) one.send({ do: 'forget' });
  }

  async counts(): Promise<StormCounts> {
    const all = await Promise.all(
      this.children.map(async (one) => {
        one.send({ do: 'count' });
        return ((await once(one, 'message')) as [StormCounts])[0];
      }),
    );
    return {
      ready: all.reduce((sum, { ready }) => sum + ready, 0),
      attempts: all.reduce((sum, { attempts }) => sum + attempts, 0),
      refusals: Object.assign({}, ...all.map(({ refusals }) => refusals)) as StormCounts['refusals'],
    };
  }

  /** Resolves when all are ready, each after an attempt since `forget`. */
  async untilReady(): Promise<void> {
    for (;;) {
      const counts = await this.counts();
      if (counts.attempts >= this.tokens.length && counts.ready === this.tokens.length) return;
      await delay(50);
    }
  }

  /** Ends all at once. */
  close(): void {
    for (const one of this.children) one.kill();
  }
}
