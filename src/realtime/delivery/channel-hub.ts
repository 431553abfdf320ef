import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ChannelHistory } from '../../channel/channel.history.js';
import { Events } from '../../events.js';
import { CatchUp } from './catch-up.js';
import type { Connection } from '../socket/connection.js';
import { Delivery } from './delivery.js';
import type { ResumePoint } from '../admission/handshake.js';
import { Fanout } from '../fanout/fanout.js';
import { UserChannel, HistoryReads } from './user-channel.js';

/** An instance that was killed after a commit told nobody of it: within this time the other instances see it themselves. */
const SWEEP_EVERY_MS = 15_000;

/** The channels of the users who are connected to this instance. A connection is in its own user's channel only. */
@Injectable()
export class ChannelHub implements OnApplicationShutdown {
  private readonly channels = new Map<string, UserChannel>();
  private readonly sweeps: NodeJS.Timeout;

  constructor(
    history: ChannelHistory,
    private readonly reads: HistoryReads,
    private readonly delivery: Delivery,
    private readonly fanout: Fanout,
    events: Events,
  ) {
    events.on('state.asked', (tell) => tell({ connectedUsers: this.channels.size }));
    const catchUp = new CatchUp(history, this.channels);
    this.sweeps = setInterval(() => catchUp.everyone(), SWEEP_EVERY_MS).unref();
    events.on('channel.appended', (event) => {
      this.channels.get(event.userId)?.receive(event);
      fanout.publish(event);
    });
    fanout.listen({
      onNotification: (notification) => {
        const channel = this.channels.get(notification.userId);
        if ('id' in notification) channel?.receive(notification);
        else channel?.reachesTo(notification.offset);
      },
      onDoubt: (userId) => (userId === undefined ? catchUp.everyone() : catchUp.user(userId)),
      onBack: () => catchUp.everyone(),
    });
  }

  onApplicationShutdown(): void {
    clearInterval(this.sweeps);
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
      channel = new UserChannel(userId, this.reads, this.fanout.subscribe(userId), this.delivery);
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
    this.fanout.unsubscribe(userId);
  }
}
