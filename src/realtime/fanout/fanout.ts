import { Inject, Injectable, Logger } from '@nestjs/common';
import { OAuthError } from '../../errors/oauth-error.js';
import { Events, type ChannelEvent } from '../../events.js';
import type { LatestOffset, UnkeptEvent } from './notification.js';
import { FANOUT_TRANSPORT, type FanoutTransport, type TransportListener } from './transport.js';

/** Users with a notification still to be sent. Beyond, the oldest is dropped: catch-up.ts finds its event. */
const MOST_UNSENT = 10_000;

/**
 * Notifies other instances of events. A failed notification is sent again when the transport returns; a lost one is found in the
 * history (catch-up.ts).
 */
@Injectable()
export class Fanout {
  private readonly logger = new Logger(Fanout.name);
  /** By user id. */
  private readonly unsent = new Map<string, LatestOffset>();
  private warned = false;

  constructor(
    @Inject(FANOUT_TRANSPORT) private readonly transport: FanoutTransport,
    private readonly events: Events,
  ) {
    events.on('state.asked', (tell) =>
      tell({ hintsUnsent: this.unsent.size, hintsArrive: transport.isConnected }),
    );
  }

  listen(listener: Omit<TransportListener, 'onUp'>): void {
    this.transport.listen({
      onNotification: (notification) => {
        this.events.emit('hint.received', { kind: 'id' in notification ? 'event' : 'offset' });
        listener.onNotification(notification);
      },
      onDoubt: (userId) => {
        this.events.emit('hint.received', { kind: 'doubtful' });
        this.warnOnce();
        listener.onDoubt(userId);
      },
      onUp: () => this.sendUnsent(),
      onBack: () => listener.onBack(),
    });
  }

  /** @throws OAuthError `server_error` while Redis is away: a push would not reach all instances (contract §7) */
  async assertUp(): Promise<void> {
    if (await this.transport.isUp()) return;
    throw new OAuthError('server_error', 'Redis is unavailable', { headers: { 'Retry-After': '1' } });
  }

  /**
   * @param data of an event with `ttl` 0
   * @throws OAuthError `invalid_request` if it is too large for the transport (contract §7)
   */
  assertCarries(data: unknown): void {
    const { largestUnkept } = this.transport;
    if (largestUnkept === Infinity || Buffer.byteLength(JSON.stringify(data)) <= largestUnkept) return;
    const limit = `${largestUnkept / 1024} KiB`;
    throw new OAuthError(
      'invalid_request',
      `with a ttl of 0, data must be at most ${limit} of JSON unless the service has Redis`,
    );
  }

  /** Resolves when notifications of a user arrive (see FanoutTransport). */
  subscribe(userId: string): Promise<void> {
    return this.transport.subscribe(userId);
  }

  unsubscribe(userId: string): void {
    this.transport.unsubscribe(userId);
  }

  publish(event: ChannelEvent): void {
    const { userId, offset } = event;
    const notification = offset === null ? (event as UnkeptEvent) : { userId, offset };
    this.transport.send(notification).then(
      () => this.events.emit('hint.sent', { ok: true }),
      (error: unknown) => {
        this.events.emit('hint.sent', { ok: false });
        this.logger.debug({ err: error, msg: 'a notification was not sent' });
        if (offset !== null) this.sendLater({ userId, offset });
      },
    );
  }

  private sendLater(latest: LatestOffset): void {
    this.unsent.delete(latest.userId); // the newest is the last entry
    this.unsent.set(latest.userId, latest);
    const [oldest] = this.unsent.keys();
    if (this.unsent.size > MOST_UNSENT) this.unsent.delete(oldest!);
  }

  private sendUnsent(): void {
    for (const [userId, latest] of this.unsent) {
      this.transport.send(latest).then(
        () => this.unsent.get(userId) === latest && this.unsent.delete(userId),
        () => undefined, // it stays for the next time
      );
    }
  }

  /** The sender has another version or SECRET_KEY (a rolling upgrade), or is no instance. */
  private warnOnce(): void {
    if (!this.warned) {
      this.logger.warn(
        'Messages between instances are not signed with our SECRET_KEY: histories are read instead. Use one SECRET_KEY for all instances',
      );
    }
    this.warned = true;
  }
}
