import { setTimeout as delay } from 'node:timers/promises';
import { refusesKey, type ServiceKey } from '../calls/service-key.js';
import type { LatchkeyError } from '../latchkey-error.js';
import type { KeySet } from '../token/key-set.js';
import type { ChangedClaims } from './changed-claims.js';
import type { EndedSessions } from './ended-sessions.js';
import type { StreamListener } from './event-stream-parser.js';
import { pauseAfter, reasonOf } from './outage.js';
import { StreamConnection, StreamRefused } from './stream-connection.js';

const LONGEST_CURSOR = 1024;

interface Options {
  readonly url: string;
  readonly serviceKey: ServiceKey;
  readonly warn: (message: string) => void;
}

/**
 * Follows the session revocation feed (docs/ended-sessions.md#a-reader), over one connection after another.
 */
export class RevocationFeed {
  private connection = new StreamConnection();
  /** `Last-Event-ID` of the next connection; opaque. */
  private cursor = '';
  /** Consecutive connections that failed before `ready`. */
  private failures = 0;
  /** Whether the present outage was reported. */
  private isReported = false;
  /** `service_key_refused`, if that was the service's last answer. */
  refusal: LatchkeyError | undefined;
  private readonly closing = new AbortController();

  constructor(
    private readonly options: Options,
    private readonly ended: EndedSessions,
    private readonly changed: ChangedClaims,
    private readonly keys: KeySet,
  ) {
    void this.run();
  }

  /** Whether all ended sessions and changed claims are known, except for the last seconds. */
  get isFresh(): boolean {
    return this.connection.isFresh && !this.ended.hasRemovedTooMuch();
  }

  close(): void {
    this.closing.abort();
    this.connection.close();
  }

  private async run(): Promise<void> {
    const { signal } = this.closing;
    while (!signal.aborted) {
      if (this.ended.hasRemovedTooMuch()) {
        this.ended.restart();
        this.cursor = '';
      }
      this.sweep();
      this.connection = new StreamConnection();
      const address = { ...this.options, cursor: this.cursor };
      const error = await this.connection.read(address, this.listener()).catch((reason: unknown) => reason);
      if (signal.aborted) return;
      this.failures++;
      this.report(error);
      const retryAfter = error instanceof StreamRefused ? error.retryAfter : undefined;
      await delay(pauseAfter(this.failures, retryAfter), undefined, { signal, ref: false }).catch(
        () => undefined,
      );
    }
  }

  private listener(): StreamListener {
    return {
      onEvent: (name, data) => {
        if (name === 'ended') this.takeEnded(data);
        else if (name === 'key_revoked') this.takeRevoked(data);
        else if (name === 'claims_changed') this.changed.take(data);
        else if (name === 'claims_voided') this.changed.takeVoided(data);
        else if (name === 'ready') this.takeReady();
      },
      // A cursor means that the service has just read its database, and has sent everything before it.
      onBlock: (cursor) => {
        if (cursor === undefined) return;
        if (cursor.length <= LONGEST_CURSOR && /^[\x21-\x7e]+$/.test(cursor)) this.cursor = cursor;
        if (this.ended.hasRemovedTooMuch()) throw new Error('the clock of this machine was set back');
        this.connection.stillFresh();
        this.sweep();
      },
    };
  }

  private sweep(): void {
    if (this.ended.sweep()) this.changed.sweep();
  }

  /** An unreadable event may be a sign-out: the connection fails. */
  private takeEnded(data: string): void {
    const { session_id: sessionId, until } = JSON.parse(data) as Record<string, unknown>;
    const time = typeof until === 'string' ? Date.parse(until) : NaN;
    if (typeof sessionId !== 'string' || Number.isNaN(time))
      throw new Error('an event `ended` is unreadable');
    this.ended.add(sessionId, time);
  }

  private takeRevoked(data: string): void {
    const { kid } = JSON.parse(data) as Record<string, unknown>;
    if (typeof kid !== 'string') throw new Error('an event `key_revoked` is unreadable');
    this.keys.revoke(kid);
  }

  private takeReady(): void {
    this.failures = 0;
    this.isReported = false;
    this.refusal = undefined;
    this.options.serviceKey.accepted();
    this.connection.ready();
  }

  /** Warns once per outage; after one broken connection only if the service refuses the stream, since the next follows at once. */
  private report(error: unknown): void {
    const status = error instanceof StreamRefused ? error.status : undefined;
    const isKeyRefused = status !== undefined && refusesKey(status);
    this.refusal = isKeyRefused ? this.options.serviceKey.refused(status, 'read') : undefined;
    if (this.isReported || (status === undefined && this.failures < 2)) return;
    this.isReported = true;
    if (isKeyRefused) return; // the key has its own warning
    this.options.warn(
      `Sign-outs are not received (GET /sessions/ended: ${reasonOf(error)}), so whenAway applies. ` +
        'It tries again; check that the service runs and that url reaches it',
    );
  }
}
