import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { bearer } from '../support/bearer.js';
import { Cluster } from '../support/cluster.js';
import { createDatabase } from '../support/database.js';
import { isFull, reportFault } from '../support/faults.js';
import { needs } from '../support/installed.js';
import { keysCommand } from '../support/keys-command.js';
import { PgBouncer } from '../support/pgbouncer.js';
import { query } from '../support/query.js';
import { spawnService } from '../support/service-process.js';
import { signIn } from '../support/sign-in.js';

interface Answered {
  readonly call: string;
  readonly status: number;
  readonly milliseconds: number;
}

/** People who sign in, refresh and are pushed to, again and again, until told to stop. */
class SignInLoad {
  readonly answered: Answered[] = [];
  private ended = false;
  private readonly people: Promise<void[]>;

  constructor(
    private readonly cluster: Cluster,
    private readonly url: string,
    count: number,
  ) {
    this.people = Promise.all(Array.from({ length: count }, () => this.person()));
  }

  /** What was not answered with success. */
  failed(): Answered[] {
    return this.answered.filter(({ status }) => status >= 300);
  }

  /** The longest that anybody waited for an answer, from the answer with this number on. */
  longest(from = 0): number {
    return Math.max(0, ...this.answered.slice(from).map(({ milliseconds }) => milliseconds));
  }

  async stop(): Promise<void> {
    this.ended = true;
    await this.people;
  }

  private async person(): Promise<void> {
    while (!this.ended) {
      const { state } = await this.ask('GET', '/oauth2/authorize?provider=stub');
      const body = { code: randomUUID(), state, device_id: randomUUID(), device_name: 'Laptop' };
      const { refresh_token, user_id } = await this.ask('POST', '/oauth2/token', body);
      await this.ask('POST', '/oauth2/refresh', { refresh_token });
      await this.timed('/push', () => this.cluster.push({ url: this.url }, { user_id, event: 'news' }));
    }
  }

  private async ask(method: string, path: string, body?: object): Promise<Record<string, string>> {
    const { body: answer } = await this.timed(path, async () => {
      const json = body && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
      const response = await fetch(this.url + path, { method, ...json });
      return { status: response.status, body: (await response.json()) as Record<string, string> };
    });
    return answer;
  }

  private async timed<Answer extends { status: number }>(
    call: string,
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    const began = performance.now();
    const answer = await work();
    this.answered.push({ call, status: answer.status, milliseconds: performance.now() - began });
    return answer;
  }
}

const PEOPLE = 16;
const SECONDS = 10;

// Through a pooler in session mode as well, pg's startup parameters come through only where it is told to ignore them.
const IGNORED = 'ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout';

needs({ 'npm run test:infra in full': isFull }).describe('two instances under load behind PgBouncer', () => {
  let cluster: Cluster;
  let pooler: PgBouncer;
  beforeEach(async () => {
    cluster = await Cluster.create();
  });
  afterEach(async () => {
    await cluster.close();
    await pooler?.stop();
  });

  it.each([
    ['transaction', 2, 'transaction', []],
    ['transaction', 5, 'transaction', []],
    ['session', 40, 'transaction', []],
    ['session', 40, 'session', [IGNORED]],
  ] as const)('in %s mode with %i connections, DATABASE_POOLER=%s', async (mode, size, setting, settings) => {
    pooler = await PgBouncer.before(cluster.database.url, mode, size, ...settings);
    const env = {
      DATABASE_URL: pooler.url,
      DATABASE_DIRECT_URL: cluster.database.url,
      DATABASE_POOLER: setting,
    };
    const instances = await Promise.all([cluster.start(env), cluster.start(env)]);
    const loads = instances.map(({ url }) => new SignInLoad(cluster, url, PEOPLE / 2));
    const others = await meanwhile(instances[0].url, cluster, env);
    await Promise.all(loads.map((load) => load.stop()));
    const answered = loads.flatMap((load) => load.answered);
    const failed = loads.flatMap((load) => load.failed());
    const longest = Math.round(Math.max(...loads.map((load) => load.longest())));
    reportFault({
      fault: `PgBouncer in ${mode} mode with ${size} connections, \`DATABASE_POOLER=${setting}\``,
      requests: answered.length,
      failed: failed.length,
      acknowledged: answered.length - failed.length,
      notes: `the longest request took ${longest} ms; beside them ${others} rounds of all other calls, with a key rotation`,
    });
    expect(failed).toEqual([]);
  });
});

needs({ 'npm run test:infra in full': isFull }).it(
  'a pooler that refuses what DATABASE_POOLER=session needs stops the start at once',
  async () => {
    const database = await createDatabase();
    const pooler = await PgBouncer.before(database.url, 'session', 5);
    try {
      const service = await spawnService({ DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: database.url });
      expect(await service.ended).toBe(1);
      expect(service.output()).toMatch(
        /^the database cannot be used: unsupported .*DATABASE_POOLER=transaction/m,
      );
      expect(service.output()).not.toContain('waiting for');
    } finally {
      await pooler.stop();
      await database.drop();
    }
  },
);

/** What happens less often: devices, sign-outs, a new key, removal. @returns how many rounds of it there were */
async function meanwhile(url: string, cluster: Cluster, env: Record<string, string>): Promise<number> {
  const end = performance.now() + SECONDS * 1000;
  const rotation = await keysCommand(env, 'rotate');
  expect(rotation).toMatchObject({ code: 0, stderr: '' });
  let rounds = 0;
  while (performance.now() < end) {
    const { access_token } = await signIn(url, randomUUID(), { device_id: randomUUID() });
    const me = bearer(url, access_token);
    await me.get('/me').expect(200);
    await me.get('/devices').expect(200);
    await bearer(url, Cluster.serviceKey).post('/oauth2/introspect', { token: access_token }).expect(200);
    await me.post('/sign-out', { scope: 'all' }).expect(204);
    await query(cluster.database.url, `UPDATE access_tokens SET expires_at = now() WHERE random() < 0.01`);
    rounds++;
    await delay(20);
  }
  return rounds;
}
