import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import type { DatabaseClient } from './client.js';
import { errorCode, errorMessage } from './error-facts.js';
import { NOTIFY, tryOut } from './notifications-trial.js';

const CONNECT_MS = 2000;
/** A statement that takes longer: the connection is given up, and a new one is tried. */
const STATEMENT_MS = 1000;
/** A connection that only listens would not notice that it is dead, so it pings. */
const PING_EVERY_MS = 1000;
const RETRY_MS = 100;
const LONGEST_RETRY_MS = 1000;

interface NotificationEvents {
  /** Messages can be sent, and are heard, from now on: those of the time before may have been lost. */
  readonly up: [];
  readonly message: [string];
}

/**
 * A connection that listens to one channel of PostgreSQL and notifies others through it. It may come and go: it connects
 * again by itself, and counts as up once it has been tried (contract §7). It never stays in a transaction, so PostgreSQL
 * need not keep messages for it.
 */
export class Notifications extends EventEmitter<NotificationEvents> {
  private readonly logger = new Logger(Notifications.name);
  private readonly closing = new AbortController();
  /** The connection, while it is up. */
  private client: Client | undefined;
  /** What was last said to be wrong, until it is right again. */
  private told: string | undefined;
  private running: Promise<void> = Promise.resolve();

  /**
   * @param DirectClient by the way around a pooler
   * @param channel lower-case letters and `_`
   */
  constructor(
    private readonly DirectClient: DatabaseClient,
    private readonly channel: string,
  ) {
    super();
  }

  /** Whether messages can be sent, and are heard. */
  get isUp(): boolean {
    return this.client !== undefined;
  }

  /** Resolves after the first attempt, whatever came of it: the service can do without for a while. */
  async open(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.running = this.run(resolve);
    });
  }

  /** Ends the connection. What is to be told must have been told. */
  async close(): Promise<void> {
    this.closing.abort();
    await this.running;
  }

  /**
   * Tells all that listen, this one too.
   * @param payload less than 8,000 bytes
   * @throws when it is not known whether it was told; the connection is renewed then
   */
  async notify(payload: string): Promise<void> {
    const { client } = this;
    if (!client) throw new Error('not connected');
    try {
      await client.query(NOTIFY, [this.channel, payload]);
    } catch (error) {
      client.emit('error', error);
      throw error;
    }
  }

  /** Never rejects. */
  private async run(attempted: () => void): Promise<void> {
    let attempt = 0;
    while (!this.closing.signal.aborted) {
      const client = this.create();
      try {
        await this.connect(client);
        attempt = 0;
        attempted();
        await this.serve(client);
      } catch (error) {
        this.onFailure(error);
      }
      this.client = undefined;
      client.end().catch(() => undefined); // where a statement hangs, pg cuts the connection instead
      attempted();
      const wait = Math.min(RETRY_MS * ++attempt, LONGEST_RETRY_MS);
      await delay(wait, undefined, { signal: this.closing.signal }).catch(() => undefined);
    }
  }

  private create(): Client {
    const client = new this.DirectClient({
      application_name: 'latchkey-hints',
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: STATEMENT_MS,
      keepAlive: true,
    });
    client.on('error', () => undefined); // also after it was given up
    return client;
  }

  private async connect(client: Client): Promise<void> {
    await client.connect();
    await client.query(`LISTEN ${this.channel}`);
    await tryOut(client, this.create());
  }

  /** @throws what the connection ended with */
  private async serve(client: Client): Promise<void> {
    client.on('notification', ({ channel, payload }) => {
      if (channel === this.channel && payload !== undefined) this.emit('message', payload);
    });
    const pings = setInterval(() => {
      client.query('SELECT').catch((error: Error) => client.emit('error', error));
    }, PING_EVERY_MS).unref();
    try {
      this.client = client;
      this.onUp();
      await once(client, 'end', { signal: this.closing.signal }); // throws at the first `error`
    } finally {
      clearInterval(pings);
    }
  }

  private onUp(): void {
    if (this.told !== undefined) this.logger.log('messages between instances arrive again');
    this.told = undefined;
    this.emit('up');
  }

  /** Every attempt brings an error: only another one is logged. */
  private onFailure(error: unknown): void {
    if (this.closing.signal.aborted) return;
    const reason = errorMessage(error) || String(errorCode(error));
    if (this.told !== reason)
      this.logger.warn(
        `no messages from other instances: ${reason}; histories are read once they arrive again`,
      );
    this.told = reason;
  }
}
