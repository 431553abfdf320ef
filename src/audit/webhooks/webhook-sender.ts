import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { Clock } from '../../platform/database/clock.js';
import { Stopwatch, type ForeignHttp } from '../../platform/http/foreign/foreign-http.js';
import { signedHeaders } from '../../platform/http/foreign/signed-headers.js';
import type { AuditEvent } from '../audit-event.js';
import { isBefore, parseTime, type AuditFeed, type Cursor } from '../audit-feed.js';
import { toFailure, toFailureWithoutAnswer, type Failure } from './failure.js';
import { WantedEvents } from './wanted-events.js';
import { LEASE_MS, PAUSED_S, type LeasedWebhook, type Holder, type WebhookStore } from './webhook.store.js';

/** A delivery counts if its status arrives in time (docs/webhooks.md#what-a-receiver-can-rely-on). */
export const TIMEOUT_MS = 10_000;

/** Pauses: another instance sends, there is nothing to send, the address fails. */
const NOT_LEASED_MS = 3000;
const IDLE_MS = 1000;
const FAILING_MS = 2000;

/** Pauses between attempts begin at a second and double up to this. */
const LONGEST_PAUSE_S = 600;
const GIVE_UP_MS = 3 * 24 * 60 * 60_000;

/** Refusals of one event after which it is set aside, if the receiver accepts a check. */
const REFUSALS = 5;
/** For so long, one refusal is then enough: strangers may write again what the receiver refuses. */
const FILTERS_MS = 10 * 60_000;
/** Name of a delivery without any content from outside: if it is accepted, the refused event is to blame. */
const CHECK = 'webhook_check';
/** An attempt may fail because the receiver has just closed the connection: no warning. */
const WARN_AFTER = 2;

interface SenderParts {
  readonly store: WebhookStore;
  readonly feed: AuditFeed;
  readonly http: ForeignHttp;
  readonly clock: Clock;
  readonly secrets: () => readonly string[];
  /** Names of wanted events. */
  readonly names: readonly string[];
  /** Called for each event that is set aside. */
  readonly setAside: () => void;
}

interface Message {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: object;
}

/**
 * Sends the trail to one address, while this instance has the lease. An event is sent after the position of
 * the former one was stored, so each end of a process repeats one event at most.
 */
export class WebhookSender {
  private readonly logger = new Logger('Webhooks');
  private holder: Holder;
  /** All older events were accepted; milliseconds since the epoch. Undefined while another instance sends. */
  private acceptedUntil: number | undefined;
  private lease = new Stopwatch();
  private running: Promise<void> = Promise.resolve();
  private readonly stopping = new AbortController();
  private readonly wanted: WantedEvents;
  /** Event that the receiver refuses, and how often it did. */
  private refused = { id: '', times: 0 };
  /** Time since the last event was set aside; undefined: none was. */
  private filtered: Stopwatch | undefined;

  /** @param name for people, without a path, which may be secret */
  constructor(
    private readonly url: string,
    private readonly name: string,
    private readonly parts: SenderParts,
  ) {
    this.holder = { addressHash: createHash('sha256').update(url).digest(), holder: randomUUID() };
    this.wanted = new WantedEvents(parts.names);
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
    const { store, feed, clock } = this.parts;
    this.lease = new Stopwatch();
    let webhook = await store.lease(this.holder);
    if (!webhook) {
      this.holder = { ...this.holder, holder: randomUUID() };
      this.acceptedUntil = undefined;
      return NOT_LEASED_MS;
    }
    const page = await feed.read(webhook.position);
    const wanted = page.events.filter(({ event }) => this.wanted.includes(event));
    this.acceptedUntil = parseTime(wanted[0]?.cursor ?? page.cursor);
    if (wanted.length > 0) {
      const wait = webhook.retryAt ? webhook.retryAt.getTime() - clock.now() : 0;
      if (wait > 0) return Math.min(wait, FAILING_MS);
    }
    for (const { event, cursor } of wanted) {
      if (this.stopping.signal.aborted || this.lease.ms > LEASE_MS - TIMEOUT_MS) return 0;
      this.acceptedUntil = parseTime(cursor);
      const failure = await this.deliver({
        id: event.id,
        type: event.event,
        timestamp: event.at,
        data: event,
      });
      const isDone = failure ? await this.setAside(event, cursor, failure) : await this.accept(cursor);
      if (isDone === 'failed') await this.failed(webhook, failure!);
      if (isDone !== true) return 0;
      if (webhook.attempts >= WARN_AFTER) this.logger.log(`${this.name} accepts events again.`);
      webhook = { position: cursor, attempts: 0, failingSince: null, retryAt: null, pausedAt: null };
    }
    this.acceptedUntil = parseTime(page.cursor);
    const end = page.events.at(-1)?.cursor ?? page.cursor;
    const isSetBack = isBefore(page.cursor, webhook.position); // the database's clock
    if (isSetBack || (page.events.length > 0 && end !== webhook.position))
      await store.moved(this.holder, end);
    return page.hasMore ? 0 : IDLE_MS;
  }

  /** @returns why the message was not accepted */
  private async deliver({ id, ...message }: Message): Promise<Failure | undefined> {
    const { clock, http, secrets } = this.parts;
    const body = JSON.stringify(message);
    const now = new Date(clock.now());
    const headers = signedHeaders(secrets(), id, now, body);
    try {
      return toFailure(await http.post(this.url, headers, body), clock.now());
    } catch (error) {
      return toFailureWithoutAnswer(error);
    }
  }

  /** @returns false if another sender has the lease */
  private accept(cursor: Cursor): Promise<boolean> {
    this.lease = new Stopwatch();
    return this.parts.store.accepted(this.holder, cursor);
  }

  /**
   * Sets an event aside that the receiver refuses because of its content. A receiver that refuses everything
   * is set up wrongly, and gets the event again.
   * @returns 'failed' if the event stays; false if another sender has the lease
   */
  private async setAside(event: AuditEvent, cursor: Cursor, failure: Failure): Promise<boolean | 'failed'> {
    if (!failure.isRefusal) return 'failed';
    const { refused, filtered, lease } = this;
    this.refused = { id: event.id, times: refused.id === event.id ? refused.times + 1 : 1 };
    const isFilter = filtered !== undefined && filtered.ms < FILTERS_MS;
    if (this.refused.times < (isFilter ? 1 : REFUSALS)) return 'failed';
    if (lease.ms > LEASE_MS - TIMEOUT_MS || (await this.deliver(this.check()))) return 'failed';
    const problem = `${this.name} refuses the event ${event.id} (${failure.reason}), and accepts others: it is set aside.`;
    this.filtered = this.lease = new Stopwatch();
    // No event about the refusal of such an event: the receiver may refuse by name.
    const isAboutEvent = event.event === 'webhook_event_set_aside';
    const isSetAside = await this.parts.store.setAside(this.holder, cursor, isAboutEvent ? null : problem);
    if (!isSetAside) return false;
    this.parts.setAside();
    if (!isFilter) this.logger.warn(problem);
    return true;
  }

  private check(): Message {
    const [id, timestamp] = [randomUUID(), new Date(this.parts.clock.now()).toISOString()];
    const data = { id, at: timestamp, event: CHECK, result: 'ok', actor: { type: 'system' } };
    return { id, type: CHECK, timestamp, data };
  }

  private async failed(webhook: LeasedWebhook, { reason, isGone, isRefusal, waitS }: Failure): Promise<void> {
    if (this.stopping.signal.aborted) return; // it may have been cut off
    const { attempts, failingSince, pausedAt } = webhook;
    const { store, clock } = this.parts;
    const problem = `${this.name} does not accept events: ${reason}.`;
    if (pausedAt) {
      await store.failed(this.holder, PAUSED_S);
      this.logger.warn(`${problem} It stays paused.`);
    } else if (isGone || (failingSince && clock.now() - failingSince.getTime() >= GIVE_UP_MS)) {
      await store.pause(this.holder, problem);
      this.logger.warn(`${problem} It is paused${isGone ? '' : ' after 3 days'}, and tried once an hour.`);
    } else {
      // The attempts of an outage before are no reason to wait for the first refusals.
      const nth = isRefusal && this.refused.times < REFUSALS ? this.refused.times - 1 : attempts;
      const pause = Math.min(2 ** nth, LONGEST_PAUSE_S) * (0.75 + Math.random() / 2);
      await store.failed(this.holder, Math.max(pause, waitS));
      if (attempts + 1 === WARN_AFTER) this.logger.warn(`${problem} It is tried for 3 days.`);
    }
  }
}
