import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { Webhook } from 'standardwebhooks';
import type { Clock } from '../../database/clock.js';
import { errorReason } from '../../database/statements/error-facts.js';
import type { AuditEvent } from '../audit-event.js';
import { isBefore, timeOfCursor, type AuditFeed } from '../audit-feed.js';
import { Stopwatch, TIMEOUT_MS, type WebhookHttp } from './webhook-http.js';
import { LEASE_MS, PAUSED_S, type HeldWebhook, type Holder, type WebhookStore } from './webhook.store.js';

/** Pause before the next look, if another instance sends, if there is nothing to send, and while an address fails. */
const NOT_HELD_MS = 3000;
const IDLE_MS = 1000;
const FAILING_MS = 2000;

/** Pauses between attempts begin at a second and double up to this. */
const LONGEST_PAUSE_S = 600;
const GIVE_UP_MS = 3 * 24 * 60 * 60_000;
/** An attempt may fail because the receiver has just closed the connection: no warning. */
const WARN_AFTER = 2;

interface SenderParts {
  readonly store: WebhookStore;
  readonly feed: AuditFeed;
  readonly http: WebhookHttp;
  readonly clock: Clock;
  readonly secrets: () => readonly string[];
  /** Names of wanted events; undefined: all. */
  readonly wanted: readonly string[] | undefined;
}

/**
 * Sends the trail to one address, while this instance has the lease. An event is sent after the position of the former one was stored,
 * so each end of a process repeats one event at most.
 */
export class WebhookSender {
  private readonly logger = new Logger('Webhooks');
  private holder: Holder;
  /** All older events were accepted; milliseconds since the epoch. Undefined while another instance sends. */
  private acceptedUntil: number | undefined;
  private lease = new Stopwatch();
  private running: Promise<void> = Promise.resolve();
  private readonly stopping = new AbortController();

  /** @param name for people, without a path, which may be secret */
  constructor(
    private readonly url: string,
    private readonly name: string,
    private readonly parts: SenderParts,
  ) {
    this.holder = { addressHash: createHash('sha256').update(url).digest(), holder: randomUUID() };
  }

  get addressHash(): Buffer {
    return this.holder.addressHash;
  }

  /** Seconds by which the address is behind; undefined while another instance sends. */
  get delay(): number | undefined {
    if (this.acceptedUntil === undefined) return undefined;
    return Math.max(0, this.parts.clock.now() - this.acceptedUntil) / 1000;
  }

  start(): void {
    this.running = this.run();
  }

  stop(): Promise<void> {
    this.stopping.abort();
    return this.running;
  }

  private async run(): Promise<void> {
    const { store } = this.parts;
    const { signal } = this.stopping;
    const failed = (error: unknown): number => {
      this.logger.debug({ err: error });
      return IDLE_MS;
    };
    await store.tryNow(this.addressHash).catch(failed);
    while (!signal.aborted) {
      const pause = await this.look().catch(failed);
      await delay(pause, undefined, { signal }).catch(() => undefined);
    }
    await store.release(this.holder).catch(failed); // or it expires
  }

  /** Sends the next events. @returns milliseconds until the next look */
  private async look(): Promise<number> {
    const { store, feed, clock, wanted: names } = this.parts;
    this.lease = new Stopwatch();
    let held = await store.hold(this.holder);
    if (!held) {
      this.holder = { ...this.holder, holder: randomUUID() };
      this.acceptedUntil = undefined;
      return NOT_HELD_MS;
    }
    const page = await feed.read(held.position);
    const wanted = page.events.filter(({ event }) => !names || names.includes(event.event));
    this.acceptedUntil = timeOfCursor(wanted[0]?.cursor ?? page.cursor);
    if (wanted.length > 0) {
      const wait = held.retryAt ? held.retryAt.getTime() - clock.now() : 0;
      if (wait > 0) return Math.min(wait, FAILING_MS);
    }
    for (const { event, cursor } of wanted) {
      if (this.stopping.signal.aborted || this.lease.ms > LEASE_MS - TIMEOUT_MS) return 0;
      this.acceptedUntil = timeOfCursor(cursor);
      const failure = await this.deliver(event);
      if (failure !== undefined) {
        await this.failed(held, failure);
        return 0;
      }
      this.lease = new Stopwatch();
      if (!(await store.accepted(this.holder, cursor))) return 0;
      if (held.attempts >= WARN_AFTER) this.logger.log(`${this.name} accepts events again.`);
      held = { position: cursor, attempts: 0, failingSince: null, retryAt: null, pausedAt: null };
    }
    this.acceptedUntil = timeOfCursor(page.cursor);
    const end = page.events.at(-1)?.cursor ?? page.cursor;
    const isSetBack = isBefore(page.cursor, held.position); // the database's clock
    if (isSetBack || (page.events.length > 0 && end !== held.position)) await store.moved(this.holder, end);
    return page.hasMore ? 0 : IDLE_MS;
  }

  /** @returns why the event was not accepted */
  private async deliver(event: AuditEvent): Promise<string | undefined> {
    const { clock, http, secrets } = this.parts;
    const body = JSON.stringify({ type: event.event, timestamp: event.at, data: event });
    const now = new Date(clock.now());
    const headers = {
      'Content-Type': 'application/json',
      'User-Agent': 'Latchkey',
      'webhook-id': event.id,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': secrets()
        .map((secret) => new Webhook(secret).sign(event.id, now, body))
        .join(' '),
    };
    try {
      const status = await http.post(this.url, headers, body);
      return status >= 200 && status < 300 ? undefined : `status ${status}`;
    } catch (error) {
      return errorReason(error);
    }
  }

  private async failed({ attempts, failingSince, pausedAt }: HeldWebhook, reason: string): Promise<void> {
    if (this.stopping.signal.aborted) return; // it may have been cut off
    const { store, clock } = this.parts;
    const problem = `${this.name} does not accept events: ${reason}.`;
    if (pausedAt) {
      await store.failed(this.holder, PAUSED_S);
      this.logger.warn(`${problem} It stays paused.`);
    } else if (failingSince && clock.now() - failingSince.getTime() >= GIVE_UP_MS) {
      await store.pause(this.holder, problem);
      this.logger.warn(`${problem} It is paused after 3 days, and tried once an hour.`);
    } else {
      const pause = Math.min(2 ** attempts, LONGEST_PAUSE_S) * (0.75 + Math.random() / 2);
      await store.failed(this.holder, pause);
      if (attempts + 1 === WARN_AFTER) this.logger.warn(`${problem} It is tried for 3 days.`);
    }
  }
}
