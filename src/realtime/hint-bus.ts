import { Inject, Injectable, Logger } from '@nestjs/common';
import { OAuthError } from '../errors/oauth-error.js';
import { Events, type ChannelEvent } from '../events.js';
import { HINT_CARRIER, type HintCarrier, type HintListener } from './hint-carrier.js';
import type { Reach } from './hint.js';

/** The most users with a hint still to be sent. Of more, the oldest is dropped: catch-up.ts makes up for it. */
const MOST_UNSENT = 10_000;

/**
 * Tells other instances of events. A hint that could not be sent is sent again, as how far the history reaches, once the
 * carrier is back; one that was lost is made up for from the history.
 */
@Injectable()
export class HintBus {
  private readonly logger = new Logger(HintBus.name);
  /** Hints of committed events that no other instance knows of yet. */
  private readonly unsent = new Map<string, Reach>();
  private warned = false;

  constructor(
    @Inject(HINT_CARRIER) private readonly carrier: HintCarrier,
    private readonly events: Events,
  ) {
    events.on('state.asked', (tell) =>
      tell({ hintsUnsent: this.unsent.size, hintsArrive: carrier.isConnected }),
    );
  }

  listen(listener: Omit<HintListener, 'onUp'>): void {
    this.carrier.listen({
      onEvent: (event) => {
        this.events.emit('hint.received', { kind: 'event' });
        listener.onEvent(event);
      },
      onReach: (reach) => {
        this.events.emit('hint.received', { kind: 'reach' });
        listener.onReach(reach);
      },
      onDoubt: (userId) => {
        this.events.emit('hint.received', { kind: 'doubtful' });
        this.doubt(listener, userId);
      },
      onUp: () => this.sendUnsent(),
      onBack: () => listener.onBack(),
    });
  }

  /** @throws OAuthError `server_error` while Redis is away: a push would not reach everyone (contract §7). */
  async assertUp(): Promise<void> {
    if (await this.carrier.isUp()) return;
    throw new OAuthError('server_error', 'Redis is unavailable', { headers: { 'Retry-After': '1' } });
  }

  /**
   * @param data of an event that is not kept
   * @throws OAuthError `invalid_request` where it is too large to be sent to other instances (contract §7)
   */
  assertCarries(data: unknown): void {
    const { largestUnkept } = this.carrier;
    if (largestUnkept === Infinity || Buffer.byteLength(JSON.stringify(data)) <= largestUnkept) return;
    const limit = `${largestUnkept / 1024} KiB`;
    throw new OAuthError(
      'invalid_request',
      `with a ttl of 0, data must be at most ${limit} of JSON unless the service has Redis`,
    );
  }

  /** Resolves when hints of a user arrive. While the carrier is away, resolves soon: the history is read once it is back. */
  subscribe(userId: string): Promise<void> {
    return this.carrier.subscribe(userId);
  }

  unsubscribe(userId: string): void {
    this.carrier.unsubscribe(userId);
  }

  publish(event: ChannelEvent): void {
    this.carrier.send(event).then(
      () => this.events.emit('hint.sent', { ok: true }),
      (error: unknown) => {
        this.events.emit('hint.sent', { ok: false });
        this.logger.debug({ err: error, msg: 'a hint was lost' });
        const { userId, offset } = event;
        if (offset !== null) this.sendLater({ userId, offset });
      },
    );
  }

  private sendLater(reach: Reach): void {
    this.unsent.delete(reach.userId); // the newest is the last one
    this.unsent.set(reach.userId, reach);
    const [oldest] = this.unsent.keys();
    if (this.unsent.size > MOST_UNSENT) this.unsent.delete(oldest!);
  }

  private sendUnsent(): void {
    for (const [userId, reach] of this.unsent) {
      this.carrier.send(reach).then(
        () => this.unsent.get(userId) === reach && this.unsent.delete(userId),
        () => undefined, // it stays for the next time
      );
    }
  }

  /** The message is of an instance of another version or with another SECRET_KEY, during an upgrade; or of an intruder. */
  private doubt(listener: Pick<HintListener, 'onDoubt'>, userId?: string): void {
    if (!this.warned)
      this.logger.warn(
        'messages between instances bring hints that are not ours: histories are read instead',
      );
    this.warned = true; // logged once
    listener.onDoubt(userId);
  }
}
