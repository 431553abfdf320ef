import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { ChannelEvent } from '../events.js';
import type { RedisConnection } from '../redis/redis-connection.js';
import type { HintCarrier, HintListener } from './hint-carrier.js';
import { LONGEST_HINT, parseHint, type Hint, type Reach } from './hint.js';
import { seal, unseal } from './seal.js';

const PREFIX = 'latchkey:user:';
const CHANNELS_A_COMMAND = 1000;

/**
 * Hints over a Redis channel for each user: an instance subscribes to those of its own users, so its load does not grow with
 * the users of the others.
 *
 * Others who can write to this Redis can hold hints back, read them, and repeat those of events that are not kept. They
 * cannot do more: a hint that is not sealed with our key only makes an instance look into the history.
 */
export class RedisHints implements HintCarrier {
  readonly largestUnkept = Infinity;
  private readonly logger = new Logger(RedisHints.name);
  private readonly users = new Set<string>();
  /** Redis also sends us our own hints; an event that is not kept would then come twice. */
  private readonly ownName = randomUUID();
  private listener: HintListener | undefined;

  /** @param key 32 bytes, the same on all instances */
  constructor(
    private readonly redis: RedisConnection,
    private readonly key: Buffer,
  ) {}

  listen(listener: HintListener): void {
    this.listener = listener;
    this.redis.subscriber.on('message', (channel: string, message: string) => {
      if (channel.startsWith(PREFIX)) this.receive(channel.slice(PREFIX.length), message, listener);
    });
    this.redis.onUp(() => {
      listener.onUp();
      void this.resubscribe();
    });
  }

  get isConnected(): boolean {
    return this.redis.isUsable;
  }

  isUp(): Promise<boolean> {
    return this.redis.isUp();
  }

  async subscribe(userId: string): Promise<void> {
    this.users.add(userId);
    if (this.redis.isUsable)
      await this.redis.subscriber.subscribe(PREFIX + userId).catch(() => this.reconnect());
  }

  unsubscribe(userId: string): void {
    this.users.delete(userId);
    this.redis.subscriber.unsubscribe(PREFIX + userId).catch(() => this.reconnect());
  }

  async send(hint: ChannelEvent | Reach): Promise<void> {
    const sealed = seal(JSON.stringify({ ...hint, from: this.ownName }), this.key);
    try {
      await this.redis.client.publish(PREFIX + hint.userId, sealed);
    } catch (error) {
      this.redis.onFailure();
      throw error;
    }
  }

  private receive(userId: string, message: string, listener: HintListener): void {
    const hint = this.read(message);
    if (hint?.from === this.ownName) return;
    if (hint?.userId !== userId) listener.onDoubt(userId);
    else if ('id' in hint) listener.onEvent(hint);
    else listener.onReach(hint);
  }

  private read(message: string): Hint | undefined {
    const json = message.length > LONGEST_HINT ? undefined : unseal(message, this.key);
    return json === undefined ? undefined : parseHint(json);
  }

  private async resubscribe(): Promise<void> {
    const channels = [...this.users].map((userId) => PREFIX + userId);
    try {
      while (channels.length > 0)
        await this.redis.subscriber.subscribe(...channels.splice(-CHANNELS_A_COMMAND));
      this.listener?.onBack();
    } catch (error) {
      this.logger.debug({ err: error, msg: 'Redis went away again' });
      this.reconnect();
    }
  }

  /** A connection whose subscriptions are uncertain is useless; a new one begins with all of them. */
  private reconnect(): void {
    if (this.redis.isUsable) this.redis.renewSubscriber();
  }
}
