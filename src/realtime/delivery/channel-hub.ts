import { Injectable, Logger } from '@nestjs/common';
import { Background } from '../../platform/background.js';
import { ChannelHistory } from '../../channel/channel.history.js';
import { Events, type ChannelEvent } from '../../platform/events.js';
import type { Admitted } from '../handshakes/handshake-queue.js';
import { Fanout } from '../fanout/fanout.js';
import type { Connection, Outgoing } from '../socket/connection.js';
import { UserChannel } from './user-channel.js';

const USERS_A_STATEMENT = 1000;
/** Undeliverable events that are remembered, so that each is logged once. */
const MOST_LOGGED = 1000;

/** The channels of the users who are connected to this instance. Undeliverable events are skipped. */
@Injectable()
export class ChannelHub {
  private readonly logger = new Logger(ChannelHub.name);
  private readonly channels = new Map<string, UserChannel>();
  /** Users for whom a notification may have been lost. */
  private readonly doubted = new Set<string>();
  private doubtsAll = false;
  private catchingUp = false;
  /** Deliveries since the start, each connection counted. */
  private deliveries = 0;
  private readonly undeliverable = new Set<string>();

  constructor(
    private readonly history: ChannelHistory,
    private readonly fanout: Fanout,
    events: Events,
    background: Background,
  ) {
    background.repeat('doubt-histories', () => (this.doubtsAll = true));
    background.repeat('compare-histories', () => this.catchUp());
    events.on('state.requested', (report) =>
      report({ connectedUsers: this.channels.size, deliveries: this.deliveries }),
    );
    events.on('channel.appended', (appended) => {
      for (const event of appended) this.channels.get(event.userId)?.receive(event);
      fanout.publish(appended);
    });
    fanout.listen({
      onNotification: (notification) => {
        if ('userId' in notification)
          return this.channels.get(notification.userId)?.reachesTo(notification.offset);
        const { to, ...event } = notification;
        for (const [userId, id] of to) this.channels.get(userId)?.receive({ ...event, userId, id });
      },
      onDoubt: (userId) => {
        if (userId === undefined) this.doubtsAll = true;
        else if (this.channels.has(userId)) this.doubted.add(userId);
      },
      onUp: () => {
        this.doubtsAll = true;
        void this.catchUp();
      },
    });
  }

  countConnections(userId: string): number {
    return this.channels.get(userId)?.connections.size ?? 0;
  }

  /** @param deviceId null: any device */
  hasOpen(userId: string, deviceId: string | null): boolean {
    const connections = [...(this.channels.get(userId)?.connections ?? [])];
    return connections.some(({ session }) => deviceId === null || session.deviceId === deviceId);
  }

  async join(connection: Connection, admitted: Admitted): Promise<void> {
    const { userId } = connection.session;
    let channel = this.channels.get(userId);
    if (!channel) {
      channel = new UserChannel(userId, this.history, this.fanout.subscribe(userId), (event, connections) =>
        this.deliver(event, connections),
      );
      this.channels.set(userId, channel);
    }
    channel.connections.add(connection);
    await channel.join(connection, admitted);
  }

  leave(connection: Connection): void {
    const { userId } = connection.session;
    const channel = this.channels.get(userId);
    if (!channel?.connections.delete(connection) || channel.connections.size > 0) return;
    this.channels.delete(userId);
    this.fanout.unsubscribe(userId);
  }

  /**
   * Sends an event, except to other devices and after expiry. Never throws, so that the next event follows.
   */
  private deliver(event: ChannelEvent, connections: readonly Connection[]): void {
    try {
      if (event.data === undefined) throw new SyntaxError('the row cannot be read');
      let outgoing: Outgoing | undefined;
      for (const connection of connections) {
        if (!connection.mayReceive(event)) continue;
        outgoing ??= connection.encode(event);
        connection.send(outgoing);
        this.deliveries++;
      }
    } catch (error) {
      const { id, userId, offset } = event;
      if (this.undeliverable.has(id)) return;
      if (this.undeliverable.size === MOST_LOGGED) this.undeliverable.clear();
      this.undeliverable.add(id);
      const { message: reason } = error as Error;
      this.logger.warn({ msg: 'an event cannot be delivered and is skipped', userId, offset, id, reason });
    }
  }

  /**
   * Compares the histories in doubt with what was delivered here, a thousand in a statement. Never rejects.
   */
  private async catchUp(): Promise<void> {
    if (this.catchingUp) return;
    this.catchingUp = true;
    const users = [...(this.doubtsAll ? this.channels.keys() : this.doubted)];
    this.doubtsAll = false;
    this.doubted.clear();
    for (let at = 0; at < users.length; at += USERS_A_STATEMENT) {
      const some = users.slice(at, at + USERS_A_STATEMENT);
      try {
        for (const [userId, last] of await this.history.newest(some))
          this.channels.get(userId)?.reachesTo(last);
      } catch (error) {
        this.logger.debug({ err: error, msg: 'histories could not be compared' });
        for (const userId of some) if (this.channels.has(userId)) this.doubted.add(userId);
      }
    }
    this.catchingUp = false;
  }
}
