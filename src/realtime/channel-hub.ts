import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { ChannelHistory } from '../channel/channel.history.js';
import { Events } from '../events.js';
import type { Connection } from './connection.js';
import { Delivery } from './delivery.js';
import type { ResumePoint } from './handshake.js';
import { HintBus } from './hint-bus.js';
import { UserChannel } from './user-channel.js';

/** How often histories with a doubtful hint are read, one after the other. */
const LOOK_EVERY_MS = 1000;

/** The channels of the users who are connected to this instance. A connection is in its own user's channel only. */
@Injectable()
export class ChannelHub {
  private readonly channels = new Map<string, UserChannel>();
  private readonly delivery = new Delivery();
  /** Users with a hint that was not understood; only users who are connected here. */
  private readonly doubted = new Set<string>();
  private looking = false;

  constructor(
    private readonly history: ChannelHistory,
    private readonly hints: HintBus,
    events: Events,
  ) {
    events.on('channel.appended', (event) => {
      this.channels.get(event.userId)?.receive(event);
      hints.publish(event);
    });
    hints.onEvent = (event) => this.channels.get(event.userId)?.receive(event);
    hints.onReach = ({ userId, offset }) => this.channels.get(userId)?.reachesTo(offset);
    hints.onDoubt = (userId) => this.doubt(userId);
    hints.onBack = () => this.channels.forEach((channel) => void channel.catchUp());
  }

  /** How many sockets a user has on this instance. */
  countOf(userId: string): number {
    return this.channels.get(userId)?.connections.size ?? 0;
  }

  /** Whether a user, or a device of theirs, has an open socket on this instance. */
  hasOpen(userId: string, deviceId: string | null): boolean {
    const connections = [...(this.channels.get(userId)?.connections ?? [])];
    return connections.some(({ session }) => deviceId === null || session.deviceId === deviceId);
  }

  async join(connection: Connection, from: ResumePoint | undefined): Promise<void> {
    const { userId } = connection.session;
    let channel = this.channels.get(userId);
    if (!channel) {
      channel = new UserChannel(userId, this.history, this.hints.subscribe(userId), this.delivery);
      this.channels.set(userId, channel);
    }
    channel.connections.add(connection);
    await channel.join(connection, from);
  }

  leave(connection: Connection): void {
    const { userId } = connection.session;
    const channel = this.channels.get(userId);
    if (!channel?.connections.delete(connection) || channel.connections.size > 0) return;
    this.channels.delete(userId);
    this.hints.unsubscribe(userId);
  }

  private doubt(userId: string): void {
    if (!this.channels.has(userId)) return;
    this.doubted.add(userId);
    if (!this.looking) void this.look(); // never rejects
  }

  private async look(): Promise<void> {
    this.looking = true;
    while (this.doubted.size > 0) {
      await delay(LOOK_EVERY_MS, undefined, { ref: false });
      const users = [...this.doubted];
      this.doubted.clear();
      for (const userId of users) await this.channels.get(userId)?.catchUp();
    }
    this.looking = false;
  }
}
