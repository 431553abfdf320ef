import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import request from 'supertest';
import { isFull, reportFault } from '../support/faults.js';
import { needs } from '../support/installed.js';
import { type PostgresNode, ReplicatedPostgres } from '../support/standby.js';
import { query } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';

const KINDS = ['refresh', 'push', 'signIn', 'read', 'introspect'] as const;
const PAUSE_MS = 20; // after each answer

/** What was answered to one kind of request, and the longest time without a success. */
class Tally {
  succeeded = 0;
  failed = 0;
  longestGapMs = 0;
  private last = performance.now();

  count(isSuccess: boolean): void {
    if (!isSuccess) {
      this.failed++;
      return;
    }
    this.succeeded++;
    this.longestGapMs = Math.max(this.longestGapMs, performance.now() - this.last);
    this.last = performance.now();
  }

  toString(): string {
    return `${this.succeeded} answered, ${this.failed} refused, longest gap ${this.longestGapMs.toFixed(0)} ms`;
  }
}

/** Load of refreshes, sign-ins, pushes and reads, with a record of the acknowledged ones. */
class TokenLoad {
  readonly writes = new Tally();
  readonly reads = new Tally();
  /** Access tokens that were issued. */
  readonly tokens: string[] = [];
  /** Events that were answered with 202, as `<user id> <offset>`. */
  readonly events: string[] = [];
  private ended = false;
  private work: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly url: string,
    private readonly serviceKey: string,
  ) {}

  /** @param serviceKey one that may push and introspect */
  static async start(url: string, serviceKey: string, count = 4): Promise<TokenLoad> {
    const people = await Promise.all(Array.from({ length: count }, () => signIn(url)));
    const load = new TokenLoad(url, serviceKey);
    load.work = Promise.all(people.flatMap((person) => KINDS.map((kind) => load.repeat(kind, person))));
    return load;
  }

  async stop(): Promise<void> {
    this.ended = true;
    await this.work;
  }

  /** How many of the acknowledged tokens and events a database does not have. */
  async lostIn(databaseUrl: string): Promise<{ tokens: number; events: number }> {
    const jtis = this.tokens.map((token) => claimsOf(token)['jti']);
    const [row] = await query<{ tokens: string; events: string }>(
      databaseUrl,
      `SELECT (SELECT count(*) FROM access_tokens WHERE jti = ANY ($1)) AS tokens,
         (SELECT count(*) FROM channel_events WHERE user_id || ' ' || event_offset = ANY ($2)) AS events`,
      [jtis, this.events],
    );
    return { tokens: jtis.length - Number(row!.tokens), events: this.events.length - Number(row!.events) };
  }

  private async repeat(kind: (typeof KINDS)[number], person: Tokens): Promise<void> {
    while (!this.ended) await this[kind](person);
  }

  private async refresh({ refresh_token }: Tokens): Promise<void> {
    const body = await this.ask(this.writes, '/oauth2/refresh', { refresh_token });
    if (body) this.tokens.push(body['access_token'] as string);
  }

  private async push({ user_id }: Tokens): Promise<void> {
    const body = await this.ask(this.writes, '/push', { user_id, event: 'news' }, this.serviceKey);
    if (body) this.events.push(`${user_id} ${String(body['offset'])}`);
  }

  private async signIn(): Promise<void> {
    const begun = await this.ask(this.writes, '/oauth2/authorize?provider=stub');
    if (!begun) return;
    const body = await this.ask(this.writes, '/oauth2/token', { code: randomUUID(), state: begun['state'] });
    if (body) this.tokens.push(body['access_token'] as string);
  }

  private async read({ access_token }: Tokens): Promise<void> {
    await this.ask(this.reads, '/me', undefined, access_token);
  }

  private async introspect({ access_token }: Tokens): Promise<void> {
    await this.ask(this.reads, '/oauth2/introspect', { token: access_token }, this.serviceKey);
  }

  private async ask(
    tally: Tally,
    path: string,
    body?: object,
    bearer?: string,
  ): Promise<Record<string, unknown> | undefined> {
    const headers = {
      ...(body && { 'Content-Type': 'application/json' }),
      ...(bearer && { Authorization: `Bearer ${bearer}` }),
    };
    const response = await fetch(this.url + path, {
      method: body ? 'POST' : 'GET',
      headers,
      ...(body && { body: JSON.stringify(body) }),
    }).catch(() => undefined);
    tally.count(response?.ok === true);
    const answer = (await response?.json().catch(() => undefined)) as Record<string, unknown> | undefined;
    await delay(PAUSE_MS);
    return response?.ok ? answer : undefined;
  }
}

const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';
const AWAY_MS = 30_000;
const POOL_SIZE = 10;
const BACKENDS = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'latchkey'`;

/** What takes no half a minute of it is in test/database/standby.spec.ts. */
needs({ 'npm run test:infra in full': isFull }).describe(
  'a synchronous standby that goes away under load',
  () => {
    let pair: ReplicatedPostgres;
    let provider: StubProvider;
    let service: TestService;

    beforeEach(async () => {
      [pair, provider] = await Promise.all([ReplicatedPostgres.start(), StubProvider.start()]);
      service = await startTestService({
        ...provider.env(),
        DATABASE_URL: pair.primary.url,
        DATABASE_POOL_SIZE: String(POOL_SIZE),
        SERVICE_KEYS: SERVICE_KEY,
      });
    });
    afterEach(async () => {
      await service?.close();
      await pair?.stop();
      await provider?.close();
    });

    const ready = async (): Promise<number> => (await request(service.url).get('/health/ready')).status;

    /** @returns the highest number of the service's backends on the primary */
    async function mostBackends(milliseconds: number): Promise<number> {
      const end = performance.now() + milliseconds;
      let most = 0;
      while (performance.now() < end) {
        const [row] = await pair.primary.query(BACKENDS);
        most = Math.max(most, row!['n'] as number);
        await delay(50);
      }
      return most;
    }

    it.each<[string, (standby: PostgresNode) => unknown, (standby: PostgresNode) => unknown]>([
      ['frozen', (standby) => standby.freeze(), (standby) => standby.thaw()],
      ['killed', (standby) => standby.kill(), (standby) => standby.start()],
    ])(
      '%s: reads go on, no backends pile up, and nothing is acknowledged that it does not have',
      async (what, hurt, heal) => {
        const load = await TokenLoad.start(service.url, SERVICE_KEY);
        await until(() => load.tokens.length > 50);
        const before = load.reads.failed;
        await hurt(pair.standby);
        const most = await mostBackends(AWAY_MS);
        expect(most).toBeLessThanOrEqual(2 * POOL_SIZE); // commits that were given up wait a moment longer
        expect(await ready()).toBe(503);
        const [readable, unreadable] = [load.reads.succeeded, load.reads.failed - before];
        expect(unreadable).toBeLessThan(readable / 20);

        await heal(pair.standby);
        const back = performance.now();
        const written = load.writes.succeeded;
        await until(() => load.writes.succeeded > written + 20);
        const recovery = performance.now() - back;
        expect(recovery).toBeLessThan(3000);
        await until(async () => (await ready()) === 200);

        // Some are waiting for the standby when the primary is lost.
        pair.standby.freeze();
        await mostBackends(1500);
        await load.stop();
        await pair.primary.kill();
        pair.standby.thaw();
        await pair.standby.promote();
        const lost = await load.lostIn(pair.standby.url);
        reportFault({
          fault: `synchronous standby ${what} for 30 s`,
          requests: load.writes.succeeded + load.writes.failed,
          failed: load.writes.failed,
          longestGapMs: load.writes.longestGapMs,
          acknowledged: load.tokens.length + load.events.length,
          lost: lost.tokens + lost.events,
          doubled: load.events.length - new Set(load.events).size,
          notes: `writes; of ${readable + unreadable} reads ${unreadable} failed; ${most} backends; writes again after ${(recovery / 1000).toFixed(1)} s`,
        });
        expect(lost).toEqual({ tokens: 0, events: 0 });
      },
      120_000,
    );
  },
);
