import { Injectable, Logger } from '@nestjs/common';
import { Events, type ChannelEvent } from '../../events.js';
import type { Connection } from '../socket/connection.js';
import type { Outgoing } from '../socket/outgoing.js';

/** Undeliverable events that are remembered, so that each is logged once. */
const MOST_LOGGED = 1000;

/** Sends events to connections, and skips undeliverable events (contract §7). */
@Injectable()
export class Delivery {
  private readonly logger = new Logger(Delivery.name);
  private readonly logged = new Set<string>();
  /** Deliveries since the start, each connection counted. */
  private count = 0;

  constructor(events: Events) {
    events.on('state.asked', (report) => report({ deliveries: this.count }));
  }

  /** Sends an event, except to other devices and after expiry. Never throws, so that the next event follows. */
  deliver(event: ChannelEvent, connections: readonly Connection[]): void {
    try {
      if (event.data === undefined) throw new SyntaxError('the row cannot be read');
      let outgoing: Outgoing | undefined;
      for (const connection of connections) {
        if (!connection.mayReceive(event)) continue;
        outgoing ??= connection.encode(event);
        connection.send(outgoing);
        this.count++;
      }
    } catch (error) {
      this.logOnce(event, error as Error);
    }
  }

  private logOnce({ id, userId, offset }: ChannelEvent, { message: reason }: Error): void {
    if (this.logged.has(id)) return;
    if (this.logged.size === MOST_LOGGED) this.logged.clear();
    this.logged.add(id);
    this.logger.warn({ msg: 'an event cannot be delivered and is skipped', userId, offset, id, reason });
  }
}
