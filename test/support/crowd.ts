import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pushed } from './cluster.js';
import { query } from './database.js';
import { signIn, type Tokens } from './sign-in.js';
import { SocketClient, type Received } from './socket-client.js';
import type { StubProvider } from './stub-provider.js';

type Instance = { readonly url: string };

export interface CrowdOptions {
  /** Where clients connect and pushes go: what is taken out of it is left alone. */
  readonly instances: readonly Instance[];
  readonly databaseUrl: string;
  readonly push: (instance: Instance, body: object) => Promise<Pushed>;
  readonly users: number;
}

/**
 * Users with two clients each: one stays where it is for as long as it can, the other goes from instance to instance and keeps
 * its last offset only. Every push reaches its user only (P9 of security.md).
 */
export class Crowd {
  /** Pushes that were not acknowledged, and so were made again. */
  failed = 0;
  private readonly acknowledged: Map<string, Map<number, string>>;
  private readonly clients: Listener[];
  private readonly runs: Promise<void>[] = [];

  private constructor(
    private readonly options: CrowdOptions,
    private readonly users: readonly Tokens[],
  ) {
    this.acknowledged = new Map(users.map(({ user_id }) => [user_id, new Map<number, string>()]));
    this.clients = users.flatMap((user) =>
      [true, false].map((wanders) => new Listener(user, options.instances, wanders)),
    );
  }

  /** Resolves when every client listens. */
  static async gather(options: CrowdOptions): Promise<Crowd> {
    const { users, instances } = options;
    const tokens: Tokens[] = [];
    const signInSome = async ({ url }: Instance): Promise<void> => {
      while (tokens.length < users) tokens.push(await signIn(url));
    };
    await Promise.all([...instances, ...instances].map(signInSome));
    const crowd = new Crowd(options, tokens.slice(0, users));
    const listening = crowd.clients.map(
      (client) => new Promise<void>((resolve) => (client.onReady = resolve)),
    );
    crowd.runs.push(...crowd.clients.map((client) => client.run()));
    for (const run of crowd.runs) run.catch(() => undefined); // settle() throws it
    await Promise.race([Promise.all(listening), Promise.all(crowd.runs)]);
    return crowd;
  }

  /** @param aUser pushes to each user, as fast as they are answered */
  async push(aUser: number, { pushers = 24 } = {}): Promise<void> {
    const jobs = Array.from({ length: aUser }, () => this.users).flat();
    const work = async (i: number): Promise<void> => {
      for (let user = jobs.pop(); user; user = jobs.pop())
        if (!(await this.pushOne(user, i))) jobs.push(user);
    };
    await Promise.all(Array.from({ length: pushers }, (_, i) => work(i)));
  }

  /** Waits until each client has what its user's history has, and checks that this is all, in order, each once. */
  async settle(): Promise<void> {
    const text = 'SELECT user_id, last_offset::int AS last FROM channels WHERE user_id = ANY ($1)';
    const ids = this.users.map(({ user_id }) => user_id);
    const rows = await query<{ user_id: string; last: number }>(this.options.databaseUrl, text, [ids]);
    const last = new Map(rows.map((row) => [row.user_id, row.last]));
    for (const client of this.clients) client.target(last.get(client.user.user_id) ?? 0);
    await Promise.all(this.runs);
    for (const { user, received } of this.clients) {
      const inOrder = Array.from({ length: last.get(user.user_id)! }, (_, i) => i + 1);
      expect(received.map(({ meta }) => meta!.offset)).toEqual(inOrder);
      expect(new Set(received.map(({ meta }) => meta!.id)).size).toBe(received.length);
      for (const { data } of received) expect(data).toMatchObject({ for: user.user_id });
      for (const [offset, id] of this.acknowledged.get(user.user_id)!) {
        expect(received[offset - 1]!.meta!.id).toBe(id);
      }
    }
  }

  private async pushOne({ user_id }: Tokens, turn: number): Promise<boolean> {
    const { instances, push } = this.options;
    const data = { for: user_id };
    try {
      const { status, body } = await push(instances[turn % instances.length]!, { user_id, event: 'n', data });
      if (status === 202) this.acknowledged.get(user_id)!.set(body.offset!, body.id!);
      if (status === 202) return true;
      expect(status).toBe(500); // a busy machine may answer too late
    } catch (error) {
      if (!(error as NodeJS.ErrnoException).code?.startsWith('E')) throw error; // the instance was killed
    }
    this.failed++;
    await delay(20);
    return false;
  }
}

/** One client, which reconnects with its last offset. */
class Listener {
  readonly received: Received[] = [];
  onReady: () => void = () => undefined;
  private last = Infinity;
  private wake: () => void = () => undefined;
  private readonly told = new Promise<void>((resolve) => (this.wake = resolve));

  constructor(
    readonly user: Tokens,
    private readonly instances: readonly Instance[],
    private readonly wanders: boolean,
  ) {}

  /** @param last the offset after which it may end */
  target(last: number): void {
    this.last = last;
    this.wake();
  }

  async run(): Promise<void> {
    let offset: number | undefined;
    do {
      const client = await this.connect(offset);
      if (!client) {
        await delay(50);
        continue;
      }
      const ready = client.of('ready')[0]!.data as { offset: number; recovered: boolean };
      expect(ready.recovered).toBe(true);
      this.onReady();
      const enough = this.wanders ? 1 + randomInt(8) : Infinity;
      const isDone = (): boolean =>
        client.disconnects.length > 0 ||
        client.history.length >= enough ||
        this.received.length + client.history.length >= this.last;
      await Promise.race([client.until(isDone), this.told]);
      await client.until(isDone);
      client.close();
      this.received.push(...client.history);
      offset = this.received.length; // without holes, or the check fails
    } while (this.received.length < this.last);
  }

  private async connect(offset: number | undefined): Promise<SocketClient | undefined> {
    const { url } = this.instances[randomInt(this.instances.length)]!;
    const client = SocketClient.open(url, {
      token: this.user.access_token,
      ...(offset !== undefined && { offset }),
    });
    try {
      await client.ready();
      return client;
    } catch {
      client.close(); // killed, or too busy
      return undefined;
    }
  }
}

/** How many sign-ins get their provider's answer in one moment, and so share a statement. */
const TOGETHER = 8;
/** Waiting exchanges are answered after this time. */
const LONGEST_MS = 200;
/** Of so many people, each signs in again and again: several times in one statement, too. */
const REGULARS = 5;

/** Makes a provider answer several exchanges at once. `reset()` ends it. */
export function answerTogether(provider: StubProvider, count = TOGETHER): void {
  const { answer } = provider;
  let held: (() => void)[] = [];
  const send = (): void => {
    for (const one of held.splice(0)) one();
  };
  provider.answer = (...call) => {
    held.push(() => answer(...call));
    if (held.length >= count) send();
    else if (held.length === 1) setTimeout(send, LONGEST_MS).unref();
  };
}

/** People who sign in, each on a device, again and again. */
export class CrowdOfSignIns {
  private ended = false;
  private readonly work: Promise<unknown>;

  /** @param acknowledged takes what was answered */
  constructor(url: string, people: number, acknowledged: Tokens[]) {
    const one = async (_: unknown, i: number): Promise<void> => {
      while (!this.ended) {
        const user = i < REGULARS ? `regular-${i % 2}` : randomUUID();
        acknowledged.push(await signIn(url, user, { device_id: randomUUID() }));
      }
    };
    this.work = Promise.allSettled(Array.from({ length: people }, one));
  }

  /** Resolves when all requests have been answered or have failed. */
  async stop(): Promise<void> {
    this.ended = true;
    await this.work;
  }
}

/** Returns incomplete sign-ins: each session has its user, device, access token and event, and each event a number. */
export async function halfSignIns(databaseUrl: string): Promise<unknown[]> {
  return query(
    databaseUrl,
    `SELECT user_id, 'session' AS what FROM refresh_tokens r
     WHERE NOT EXISTS (SELECT FROM users u WHERE u.user_id = r.user_id)
       OR NOT EXISTS (SELECT FROM devices d WHERE d.user_id = r.user_id AND d.device_id = r.device_id)
       OR NOT EXISTS (SELECT FROM access_tokens a WHERE a.user_id = r.user_id AND a.session_id = r.session_id)
     UNION ALL
     SELECT user_id, 'user' FROM users u WHERE NOT EXISTS (SELECT FROM refresh_tokens r WHERE r.user_id = u.user_id)
     UNION ALL
     SELECT user_id, 'channel' FROM channels c
     WHERE last_offset <> (SELECT count(*) FROM channel_events e WHERE e.user_id = c.user_id)
       OR last_offset <> (SELECT max(event_offset) FROM channel_events e WHERE e.user_id = c.user_id)
       OR last_offset <> (SELECT count(*) FROM refresh_tokens r WHERE r.user_id = c.user_id)`,
  );
}

/** Does something so many times, some at once, with the number of each. @returns what each gave, in the order of the numbers */
export async function manyAtOnce<Result>(
  times: number,
  atOnce: number,
  work: (i: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const one = async (): Promise<void> => {
    for (let i = next++; i < times; i = next++) results[i] = await work(i);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return results;
}
