import type { EventEmitter } from 'node:events';
import pg, { type PoolClient, type PoolConfig } from 'pg';
import { currentTracer } from '../../spans.js';
import { DatabaseBusy, MOST_WAITING } from '../limits.js';

type Release = (error?: Error | boolean) => void;
type Connected = (error: Error | undefined, client: PoolClient | undefined, done: Release) => void;

/**
 * Parts of the time that a call waits. A busy turn of the event loop counts as one; a new connection takes
 * about six.
 */
const PARTS = 9;
/** Limit for a connection itself, in waits of a call. */
const LONGEST_CONNECT = 3;

const nothing = (): void => undefined;

/**
 * pg's pool with at most MOST_WAITING calls that wait for a connection, each for `connectionTimeoutMillis`.
 * pg's own limit would count the time in which the event loop was busy, and give up connections that are
 * about to succeed.
 */
export class BoundedPool extends pg.Pool {
  /** `performance.now()` of the last statement that failed because the server's disk was full. */
  diskFullAt = -Infinity;

  constructor(config?: PoolConfig) {
    super({ ...config, connectionTimeoutMillis: LONGEST_CONNECT * (config?.connectionTimeoutMillis ?? 0) });
    this.on('connect', (client: EventEmitter) => {
      client.on('disk full', () => (this.diskFullAt = performance.now()));
    });
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<PoolClient> | void {
    if (!callback) {
      return new Promise((resolve, reject) => {
        this.connect((error, client) => (error ? reject(error) : resolve(client!)));
      });
    }
    if (this.waitingCount >= MOST_WAITING) {
      const error = new DatabaseBusy('too many requests wait for a connection to the database');
      return callback(error, undefined, nothing);
    }
    const bound = currentTracer()?.bind(callback) ?? callback; // another request may call it
    super.connect(this.idleCount > this.waitingCount ? bound : this.limited(bound));
  }

  private limited(callback: Connected): Connected {
    const limitMs = (this.options.connectionTimeoutMillis ?? 0) / LONGEST_CONNECT;
    if (limitMs === 0) return callback;
    let parts = 0;
    const timer = setTimeout(() => {
      if (++parts < PARTS) timer.refresh();
      else
        callback(new DatabaseBusy(`no connection to the database within ${limitMs} ms`), undefined, nothing);
    }, limitMs / PARTS);
    return (error, client, release) => {
      clearTimeout(timer);
      if (parts < PARTS) callback(error, client, release);
      else if (client) release(); // for the calls after this one
    };
  }
}
