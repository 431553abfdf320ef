import { Inject, Injectable, Logger } from '@nestjs/common';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { Events, type ChannelEvent } from '../../platform/events.js';
import { toNotifications, type LatestOffset, type Notification } from './notification.js';

export interface FanoutListener {
  onNotification(notification: Notification): void;
  /**
   * Called for a message without our signature: a notification for this user, or for any user, may have been
   * lost.
   */
  onDoubt(userId?: string): void;
  /** Called when notifications can be sent and arrive; earlier ones may have been lost. */
  onUp(): void;
}

/**
 * Carries notifications between instances: Redis or PostgreSQL. It may lose them; the history is
 * authoritative.
 */
export interface FanoutTransport {
  /** Bytes of JSON data that an event with `ttl` 0 may have (docs/realtime.md#pushing). */
  readonly largestTransient: number;
  listen(listener: FanoutListener): void;
  /** Whether notifications can be sent and arrive, as far as this instance knows. */
  readonly isConnected: boolean;
  /** Whether pushes may be accepted. */
  isUp(): Promise<boolean>;
  /**
   * Resolves when notifications of a user arrive, or the transport is down. Undefined for a transport of all
   * users' notifications.
   */
  subscribe?(userId: string): Promise<void>;
  unsubscribe?(userId: string): void;
  /** @throws if the notification was not sent, as far as this instance knows */
  send(notification: Notification): Promise<void>;
}

export const FANOUT_TRANSPORT = Symbol('FANOUT_TRANSPORT');

/**
 * Users with an unsent notification. Beyond, the oldest is dropped: other instances find its event within 15
 * s.
 */
const MOST_UNSENT = 10_000;

/** Notifies other instances of events. A failed notification is sent again when the transport returns. */
@Injectable()
export class Fanout {
  private readonly logger = new Logger(Fanout.name);
  private readonly unsent = new Map<string, number>();
  private warned = false;

  constructor(
    @Inject(FANOUT_TRANSPORT) private readonly transport: FanoutTransport,
    private readonly events: Events,
  ) {
    events.on('state.requested', (report) =>
      report({ hintsUnsent: this.unsent.size, hintsArrive: transport.isConnected }),
    );
  }

  listen(listener: FanoutListener): void {
    this.transport.listen({
      onNotification: (notification) => {
        this.events.emit('notification.received', {
          kind: notification.offset === null ? 'event' : 'offset',
        });
        listener.onNotification(notification);
      },
      onDoubt: (userId) => {
        this.events.emit('notification.received', { kind: 'doubtful' });
        this.warnOnce();
        listener.onDoubt(userId);
      },
      onUp: () => {
        this.sendUnsent();
        listener.onUp();
      },
    });
  }

  /**
   * @throws OAuthError `server_error` while Redis is away: a push would not reach all instances
   *   (docs/scaling-out.md#if-redis-is-unreachable)
   */
  async assertUp(): Promise<void> {
    if (await this.transport.isUp()) return;
    throw new OAuthError('server_error', 'Redis is unavailable', { headers: { 'Retry-After': '1' } });
  }

  /**
   * @param bytes of JSON
   * @throws OAuthError `invalid_request` if data with `ttl` 0 is too large for the transport
   */
  assertCarries(bytes: number): void {
    const { largestTransient } = this.transport;
    if (bytes <= largestTransient) return;
    throw new OAuthError(
      'invalid_request',
      `with a ttl of 0, data must be at most ${largestTransient / 1024} KiB of JSON unless the service has Redis`,
    );
  }

  async subscribe(userId: string): Promise<void> {
    await this.transport.subscribe?.(userId);
  }

  unsubscribe(userId: string): void {
    this.transport.unsubscribe?.(userId);
  }

  publish(events: readonly ChannelEvent[]): void {
    for (const notification of toNotifications(events)) this.send(notification);
  }

  private send(notification: Notification): void {
    this.transport.send(notification).then(
      () => this.events.emit('notification.sent', { ok: true }),
      (error: unknown) => {
        this.events.emit('notification.sent', { ok: false });
        this.logger.debug({ err: error, msg: 'a notification was not sent' });
        if (notification.offset !== null) this.sendLater(notification);
      },
    );
  }

  private sendLater({ userId, offset }: LatestOffset): void {
    const latest = Math.max(offset, this.unsent.get(userId) ?? 0);
    this.unsent.delete(userId); // the newest is the last entry
    this.unsent.set(userId, latest);
    const [oldest] = this.unsent.keys();
    if (this.unsent.size > MOST_UNSENT) this.unsent.delete(oldest!);
  }

  private sendUnsent(): void {
    const unsent = [...this.unsent];
    this.unsent.clear();
    for (const [userId, offset] of unsent) this.send({ userId, offset });
  }

  /** The sender has another version or SECRET_KEY, or is no instance. */
  private warnOnce(): void {
    if (this.warned) return;
    this.warned = true;
    this.logger.warn(
      'Messages between instances are not signed with our SECRET_KEY: histories are read instead. Use one SECRET_KEY for all instances',
    );
  }
}
