import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { query } from './query.js';
import { claimsOf, signIn, type Tokens } from './sign-in.js';

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

/** People who refresh, sign in, are pushed to and are read about, and a record of what they were told is stored. */
export class TokenLoad {
  readonly writes = new Tally();
  readonly reads = new Tally();
  /** Access tokens that somebody was given. */
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
