import { randomInt, randomUUID } from 'node:crypto';
import type { Call, Http } from './http.js';
import type { Kind } from './kinds.js';
import type { People } from './people.js';

const LOOPBACK = '127.0.0.1';
const KEYS_A_USER = 2;
const SHORT_S = 30;

/** The application's own backend: pushes, and asks about tokens. */
export class Backend {
  private pushed = 0;

  constructor(
    private readonly key: string,
    private readonly people: People,
    private readonly http: Http,
  ) {}

  /** A quarter each: not kept, kept for long, kept for half a minute, and one that was sent before. */
  async push(due: number): Promise<void> {
    const user_id = this.people.anyUser();
    if (user_id === undefined) return;
    const kind = this.pushed++ % 4;
    const ttl = kind === 0 ? 0 : kind === 1 ? 86_400 : SHORT_S;
    const body = { user_id, event: 'news', data: { text: 'x'.repeat(randomInt(400)) }, ttl };
    if (kind < 3) await this.ask('push', '/push', body, due, 202);
    else await this.pushAgain(user_id, due);
  }

  async introspect(due: number): Promise<void> {
    const token = this.people.anyToken();
    if (token !== undefined) await this.ask('introspect', '/oauth2/introspect', { token }, due, 200);
  }

  /** With a key that is used once. */
  async pushOnce(due: number): Promise<void> {
    const user_id = this.people.anyUser();
    if (user_id === undefined) return;
    const headers = { 'Idempotency-Key': randomUUID() };
    await this.ask(
      'push with a new key',
      '/push',
      { user_id, event: 'once', ttl: SHORT_S },
      due,
      202,
      headers,
    );
  }

  /** With one of a few keys: mostly it was sent before. */
  private async pushAgain(user_id: string, due: number): Promise<void> {
    const headers = { 'Idempotency-Key': `soak-${user_id}-${randomInt(KEYS_A_USER)}` };
    await this.ask('push with a key', '/push', { user_id, event: 'once', ttl: SHORT_S }, due, 202, headers);
  }

  private async ask(
    kind: Kind,
    path: string,
    body: object,
    due: number,
    status: number,
    headers: Record<string, string> = {},
  ): Promise<void> {
    const call: Call = { method: 'POST', path, body, bearer: this.key, from: LOOPBACK, headers };
    await this.http.expect(kind, call, due, status);
  }
}
