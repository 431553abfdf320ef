import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import type { ConnectionTarget } from '../../platform/database/pool/connection-target.js';
import { errorReason } from '../../platform/errors/error-facts.js';
import { outsideTrace } from '../../platform/spans.js';

const CHANNEL = 'latchkey_hints';
const CONNECT_MS = 2000;
const STATEMENT_MS = 1000;
/** A connection that only listens would not notice that it is dead. */
const PING_EVERY_MS = 1000;
const RETRY_MS = 100;
const LONGEST_RETRY_MS = 1000;
const SELF_TEST_MS = 2000;

/**
 * NOTIFY takes a lock of the whole server at commit: it waits for the lock at most 1 s, and neither for the
 * disk nor for a standby.
 */
const NOTIFY = `SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '1s', true), pg_notify($1, $2)`;

interface ListenerEvents {
  /** Messages can be sent and are received; earlier ones may have been lost. */
  readonly up: [];
  readonly message: [string];
}

/**
 * A connection that listens and notifies. It reconnects, and counts as up after a self-test. It is never in a
 * transaction, so PostgreSQL need not keep messages for it.
 */
export class PostgresListener extends EventEmitter<ListenerEvents> {
  private readonly logger = new Logger(PostgresListener.name);
  private readonly closing = new AbortController();
  private client: Client | undefined;
  /** The last warning, until messages arrive again. */
  private warned: string | undefined;
  private running: Promise<void> = Promise.resolve();

  /** @param DirectClient bypasses a pooler (`DATABASE_DIRECT_URL`) */
  constructor(private readonly DirectClient: ConnectionTarget['Client']) {
    super();
  }

  get isUp(): boolean {
    return this.client !== undefined;
  }

  /** Resolves after the first attempt, even if it failed. */
  async open(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.running = this.run(resolve);
    });
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.running;
  }

  /**
   * Sends a message to all listeners, this one included.
   * @throws if it is unknown whether it was sent; the connection is then replaced
   */
  async notify(payload: string): Promise<void> {
    const { client } = this;
    if (!client) throw new Error('not connected');
    try {
      await outsideTrace(() => notify(client, CHANNEL, payload)); // it serves many requests
    } catch (error) {
      client.emit('error', error);
      throw error;
    }
  }

  private async run(attempted: () => void): Promise<void> {
    let attempt = 0;
    while (!this.closing.signal.aborted) {
      const client = this.create();
      try {
        await client.connect();
        await listen(client, this.create());
        attempt = 0;
        attempted();
        await this.serve(client);
      } catch (error) {
        this.onFailure(error);
      }
      this.client = undefined;
      client.end().catch(() => undefined); // pg closes the socket if a statement hangs
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
    client.on('error', () => undefined); // also after its end
    return client;
  }

  /** @throws the error that ended the connection */
  private async serve(client: Client): Promise<void> {
    client.on('notification', ({ payload = '' }) => this.emit('message', payload));
    const pings = setInterval(() => {
      client.query('SELECT').catch((error: Error) => client.emit('error', error));
    }, PING_EVERY_MS).unref();
    try {
      this.client = client;
      if (this.warned !== undefined) this.logger.log('messages between instances arrive again');
      this.warned = undefined;
      this.emit('up');
      await once(client, 'end', { signal: this.closing.signal }); // throws at the first `error`
    } finally {
      clearInterval(pings);
    }
  }

  /** Each attempt fails: only a new reason is logged. */
  private onFailure(error: unknown): void {
    if (this.closing.signal.aborted) return;
    const reason = errorReason(error);
    if (this.warned !== reason)
      this.logger.warn(
        `no messages from other instances: ${reason}; histories are read once they arrive again`,
      );
    this.warned = reason;
  }
}

function notify(client: Client, channel: string, payload: string): Promise<unknown> {
  return client.query(NOTIFY, [channel, payload]);
}

/**
 * Sends a message between the connections, and then listens. Behind a pooler in transaction mode LISTEN is
 * accepted, but messages never arrive.
 */
async function listen(listener: Client, sender: Client): Promise<void> {
  const channel = `latchkey_test_${randomBytes(8).toString('hex')}`;
  const signal = AbortSignal.timeout(SELF_TEST_MS);
  try {
    await listener.query(`LISTEN ${channel}`);
    await sender.connect();
    await Promise.all([once(listener, 'notification', { signal }), notify(sender, channel, '')]);
    await listener.query(`UNLISTEN ${channel}; LISTEN ${CHANNEL}`);
  } catch (error) {
    throw signal.aborted
      ? new Error('nothing is received there (is it a pooler?): set DATABASE_DIRECT_URL')
      : error;
  } finally {
    sender.end().catch(() => undefined);
  }
}
