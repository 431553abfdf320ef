import { Logger } from '@nestjs/common';
import type { ChannelEvent } from '../events.js';
import { Connection } from './connection.js';

/** Events whose fault is remembered, so that it is told once and not at every connecting. */
const MOST_TOLD = 1000;

/** Gives events to connections. One that cannot be given to anybody (an old row, one that others wrote) is skipped. */
export class Delivery {
  private readonly logger = new Logger(Delivery.name);
  private readonly told = new Set<string>();

  /** Never throws: whoever has more to deliver goes on. */
  deliver(event: ChannelEvent, connections: readonly Connection[]): void {
    try {
      if (event.data === undefined) throw new SyntaxError('the row cannot be read');
      Connection.deliver(event, connections); // Socket.IO's encoder recurses, and knows reserved names
    } catch (error) {
      this.tell(event, error);
    }
  }

  private tell({ id, userId, offset }: ChannelEvent, error: unknown): void {
    if (this.told.has(id)) return;
    if (this.told.size === MOST_TOLD) this.told.clear();
    this.told.add(id);
    const { message } = error as Error; // a stack that overflowed says nothing
    this.logger.warn({
      msg: 'an event cannot be delivered and is skipped',
      userId,
      offset,
      id,
      reason: message,
    });
  }
}
