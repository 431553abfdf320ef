import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Settings } from '../config/settings.js';
import { SETTINGS } from '../config/settings.module.js';
import { OAuthError } from '../errors/oauth-error.js';
import type { ChannelEvent } from '../events.js';
import { RedisConnection } from '../redis/redis-connection.js';
import { LONGEST_HINT, parseHint, type Hint, type Reach } from './hint.js';
import { seal, unseal } from './seal.js';

const PREFIX = 'latchkey:user:';
const CHANNELS_A_COMMAND = 1000;
/** The most users with a hint still to be sent. Of more, the oldest is dropped: the user's next event makes up for it. */
const MOST_UNSENT = 10_000;

/**
 * Tells other instances of events, over a Redis channel for each user: an instance subscribes to those of its own users,
 * so its load does not grow with the users of the others. Hints that are lost are made up for from the history.
 *
 * Others who can write to this Redis can hold hints back, read them, and repeat those of events that are not kept. They
 * cannot do more: a hint that is not sealed with our key only makes an instance look into the history.
 */
@Injectable()
export class HintBus {
  private readonly logger = new Logger(HintBus.name);
  private readonly users = new Set<string>();
  /** Redis also sends us our own hints; an event that is not kept would then come twice. */
  private readonly ownName = randomUUID();
  /** Hints of events that were committed while Redis was away: no other instance knows of them yet. */
  private readonly unsent = new Map<string, Reach>();
  /** Called with every event of another instance. */
  onEvent: (event: ChannelEvent) => void = () => undefined;
  /** Called when another instance says only that an event is in the history. */
  onReach: (reach: Reach) => void = () => undefined;
  /** Called when a message about a user is not a hint of ours, or is not understood. */
  onDoubt: (userId: string) => void = () => undefined;
  /** Called when hints arrive again, after some may have been lost. */
  onBack: () => void = () => undefined;
  private readonly key: Buffer;
  private warned = false;

  constructor(
    @Inject(SETTINGS) { secretKey }: Settings,
    @Inject(RedisConnection) private readonly redis: RedisConnection | undefined,
  ) {
    this.key = secretKey.derive('hints');
    if (!redis) return;
    redis.subscriber.on('message', (channel: string, message: string) => {
      if (channel.startsWith(PREFIX)) this.receive(channel.slice(PREFIX.length), message);
    });
    redis.onUp(() => {
      this.sendUnsent();
      void this.resubscribe(redis);
    });
  }

  /** @throws OAuthError `server_error` while Redis is away: a push would not reach everyone (contract §7). */
  async assertUp(): Promise<void> {
    if (!this.redis || (await this.redis.isUp())) return;
    throw new OAuthError('server_error', 'Redis is unavailable', { headers: { 'Retry-After': '1' } });
  }

  /** Resolves when hints of a user arrive. While Redis is away, resolves soon: the history is read once it is back. */
  async subscribe(userId: string): Promise<void> {
    this.users.add(userId);
    if (this.redis?.isUsable)
      await this.redis.subscriber.subscribe(PREFIX + userId).catch(() => this.reconnect());
  }

  unsubscribe(userId: string): void {
    this.users.delete(userId);
    this.redis?.subscriber.unsubscribe(PREFIX + userId).catch(() => this.reconnect());
  }

  publish(event: ChannelEvent): void {
    this.send(event.userId, event).catch((error: unknown) => {
      this.logger.debug({ err: error, msg: 'a hint was lost' });
      this.redis?.onFailure(error);
      const { userId, offset } = event;
      if (offset !== null) this.sendLater({ userId, offset });
    });
  }

  private async send(userId: string, hint: ChannelEvent | Reach): Promise<void> {
    if (!this.redis) return;
    const sealed = seal(JSON.stringify({ ...hint, from: this.ownName }), this.key);
    await this.redis.client.publish(PREFIX + userId, sealed);
  }

  private sendLater(reach: Reach): void {
    this.unsent.delete(reach.userId); // the newest is the last one
    this.unsent.set(reach.userId, reach);
    const [oldest] = this.unsent.keys();
    if (this.unsent.size > MOST_UNSENT) this.unsent.delete(oldest!);
  }

  private sendUnsent(): void {
    for (const [userId, reach] of this.unsent) {
      this.send(userId, reach).then(
        () => this.unsent.get(userId) === reach && this.unsent.delete(userId),
        () => undefined, // it stays for the next time
      );
    }
  }

  private receive(userId: string, message: string): void {
    const hint = this.read(message);
    if (hint?.from === this.ownName) return;
    if (hint?.userId !== userId) this.doubt(userId);
    else if ('id' in hint) this.onEvent(hint);
    else this.onReach(hint);
  }

  private read(message: string): Hint | undefined {
    const json = message.length > LONGEST_HINT ? undefined : unseal(message, this.key);
    return json === undefined ? undefined : parseHint(json);
  }

  /** The message is of an instance of another version or with another SECRET_KEY, during an upgrade; or of an intruder. */
  private doubt(userId: string): void {
    if (!this.warned) this.logger.warn('Redis brings hints that are not ours: the history is read instead');
    this.warned = true; // logged once
    this.onDoubt(userId);
  }

  private async resubscribe({ subscriber }: RedisConnection): Promise<void> {
    const channels = [...this.users].map((userId) => PREFIX + userId);
    try {
      while (channels.length > 0) await subscriber.subscribe(...channels.splice(-CHANNELS_A_COMMAND));
      this.onBack();
    } catch (error) {
      this.logger.debug({ err: error, msg: 'Redis went away again' });
      this.reconnect();
    }
  }

  /** A connection whose subscriptions are uncertain is useless; a new one begins with all of them. */
  private reconnect(): void {
    if (this.redis?.isUsable) this.redis.renewSubscriber();
  }
}
