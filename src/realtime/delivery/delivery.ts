import { Injectable, Logger } from '@nestjs/common';
import { Events, type ChannelEvent } from '../../events.js';
import { Connection } from '../socket/connection.js';

/** How many faulty events are remembered, so that each is logged once and not whenever a client connects. */
const MOST_TOLD = 1000;

/** Gives events to connections. One that cannot be given to anybody (an old row, one that others wrote) is skipped. */
@Injectable()
export class Delivery {
  private readonly logger = new Logger(Delivery.name);
  private readonly told = new Set<string>();
  /** Events given to connections since the start, each connection counted. */
  private count = 0;

  constructor(events: Events) {
    events.on('state.asked', (tell) => tell({ deliveries: this.count }));
  }

  /** Never throws, so that the caller can go on with the next event. */
  deliver(event: ChannelEvent, connections: readonly Connection[]): void {
    try {
      if (event.data === undefined) throw new SyntaxError('the row cannot be read');
      this.count += Connection.deliver(event, connections); // Socket.IO throws for reserved names, and for data too deep for its recursion
    } catch (error) {
      this.tell(event, error);
    }
  }

  private tell({ id, userId, offset }: ChannelEvent, error: unknown): void {
    if (this.told.has(id)) return;
    if (this.told.size === MOST_TOLD) this.told.clear();
    this.told.add(id);
    const { message } = error as Error; // without the stack: one that overflowed says nothing
    this.logger.warn({
      msg: 'an event cannot be delivered and is skipped',
      userId,
      offset,
      id,
      reason: message,
    });
  }
}
