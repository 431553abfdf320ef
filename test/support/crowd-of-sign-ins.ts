import { randomUUID } from 'node:crypto';
import { query } from './query.js';
import { signIn, type Tokens } from './sign-in.js';
import type { StubProvider } from './stub-provider.js';

/** How many sign-ins get their provider's answer in one moment, and so share a statement. */
const TOGETHER = 8;
/** After this, those that wait are answered, however few they are. */
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

  /** Resolves when everybody's last request has been answered, or has failed. */
  async stop(): Promise<void> {
    this.ended = true;
    await this.work;
  }
}

/** Sign-ins of which a part is missing: each session has its user, device, access token and event, and each event a number. */
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
