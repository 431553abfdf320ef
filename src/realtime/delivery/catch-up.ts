import { Logger } from '@nestjs/common';
import type { ChannelHistory } from '../../channel/channel.history.js';
import type { UserChannel } from './user-channel.js';

/** However much is in doubt. */
const LOOK_EVERY_MS = 1000;
const USERS_A_STATEMENT = 1000;

/**
 * Finds events without a notification. The histories of many users are compared at once with what was delivered here;
 * only those that reach further are read.
 */
export class CatchUp {
  private readonly logger = new Logger(CatchUp.name);
  /** Users in doubt, all of whom are or were connected here. */
  private readonly doubted = new Set<string>();
  /** Whether everyone is in doubt. */
  private doubtsAll = false;
  private looking = false;

  constructor(
    private readonly history: Pick<ChannelHistory, 'newest'>,
    private readonly channels: ReadonlyMap<string, UserChannel>,
  ) {}

  user(userId: string): void {
    if (!this.channels.has(userId)) return;
    this.doubted.add(userId);
    this.begin();
  }

  /** Costs the same however many there are: messages that are not ours may come by the thousand. */
  everyone(): void {
    this.doubtsAll = true;
    this.begin();
  }

  private begin(): void {
    if (!this.looking) void this.look(); // never rejects
  }

  /** At once, and then once a second for as long as there is doubt. What could not be read is asked for again. */
  private async look(): Promise<void> {
    this.looking = true;
    await Promise.resolve(); // for all who come in the same turn
    while (this.doubtsAll || this.doubted.size > 0) {
      const users = this.doubtsAll
        ? [...this.channels.keys()]
        : [...this.doubted].filter((userId) => this.channels.has(userId));
      this.doubtsAll = false;
      this.doubted.clear();
      for (let i = 0; i < users.length; i += USERS_A_STATEMENT) {
        const some = users.slice(i, i + USERS_A_STATEMENT);
        await this.compare(some).catch((error: unknown) => {
          this.logger.debug({ err: error, msg: 'histories could not be compared' });
          for (const userId of some) this.doubted.add(userId);
        });
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS).unref());
    }
    this.looking = false;
  }

  private async compare(users: readonly string[]): Promise<void> {
    for (const [userId, last] of await this.history.newest(users)) this.channels.get(userId)?.reachesTo(last);
  }
}
