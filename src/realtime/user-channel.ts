import type { ChannelEvent } from '../channel/channel-event.js';
import type { ChannelHistory } from '../channel/channel.history.js';
import type { Connection } from './connection.js';

const PAGE = 100;
const RETRY_MS = 500;

/**
 * One user's channel on this instance: who listens, and up to which offset they have been given the history.
 *
 * What arrives from elsewhere is a hint. The next event in line is delivered as it is; one that is further on shows a
 * hole, and the history is read before anything is delivered. So the order on a socket is the order of the offsets.
 */
export class UserChannel {
  readonly connections = new Set<Connection>();
  /** Up to here the live connections have been given everything; undefined until the history was first looked at. */
  private position?: number;
  private newestHint = 0;
  private reading = false;

  constructor(
    private readonly userId: string,
    private readonly history: ChannelHistory,
    /** Resolves when hints of this user arrive here. */
    private readonly subscribed: Promise<void>,
  ) {}

  /**
   * Lets a connection listen: `ready` first, then what it missed, in order, then what comes.
   * @param offset of the last event that the client has; undefined: it begins with what comes
   */
  async join(connection: Connection, offset: number | undefined): Promise<void> {
    await this.subscribed; // from here on nothing can slip through between history and hints
    const { last, kept } = await this.history.state(this.userId, offset ?? 0);
    if (!connection.isOpen) return;
    this.position ??= last;
    connection.position = Math.min(offset ?? last, last);
    connection.welcomed = true;
    connection.tell('ready', {
      user_id: this.userId,
      session_id: connection.session.sessionId,
      device_id: connection.session.deviceId,
      expires_at: new Date(connection.expiresAt).toISOString(),
      offset: connection.position,
      recovered: offset === undefined || (offset <= last && kept === last - offset),
    });
    await this.replay(connection);
    if (this.newestHint > this.position) void this.catchUp();
  }

  /** Takes an event that was committed, here or elsewhere. */
  receive(event: ChannelEvent): void {
    const { offset } = event;
    if (offset === null) {
      for (const connection of this.connections) if (connection.welcomed) connection.deliver(event);
      return;
    }
    this.newestHint = Math.max(this.newestHint, offset);
    if (this.position === undefined || offset <= this.position) return;
    if (offset === this.position + 1 && !this.reading) this.deliver(event);
    else void this.catchUp();
  }

  /** Reads what the history has beyond what was delivered: after a hole, or when hints may have been lost. */
  async catchUp(): Promise<void> {
    if (this.reading || this.position === undefined) return;
    this.reading = true;
    try {
      for (let more = true; more;) {
        const hinted = this.newestHint;
        const events = await this.history.read(this.userId, this.position, PAGE);
        for (const event of events) this.deliver(event);
        more = events.length === PAGE;
        // A hint follows its commit: what was hinted before the reading and not found has expired.
        if (!more) this.position = Math.max(this.position, hinted);
        more ||= this.newestHint > this.position; // hinted meanwhile
      }
    } catch {
      setTimeout(() => void this.catchUp(), RETRY_MS).unref(); // the database is away: nothing is delivered meanwhile
    } finally {
      this.reading = false;
    }
  }

  private deliver(event: ChannelEvent): void {
    this.position = event.offset!;
    for (const connection of this.connections) {
      if (!connection.live || connection.position >= this.position) continue;
      connection.position = this.position;
      connection.deliver(event);
    }
  }

  /** Gives a connection the history from its position on, page by page as it reads, until it is where the others are. */
  private async replay(connection: Connection): Promise<void> {
    while (connection.isOpen) {
      if (connection.position >= this.position!) {
        connection.live = true;
        return;
      }
      const events = await this.history.read(this.userId, connection.position, PAGE);
      for (const event of events) connection.deliver(event);
      // What has expired is jumped over: an empty page means that there is nothing up to where the others are.
      connection.position = events.length > 0 ? events.at(-1)!.offset! : this.position!;
      await connection.drained();
    }
  }
}
