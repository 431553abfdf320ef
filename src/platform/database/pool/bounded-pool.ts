import type { EventEmitter } from 'node:events';
import pg, { type PoolClient, type PoolConfig } from 'pg';
import { currentTracer } from '../../spans.js';
import { DatabaseBusy, MOST_WAITING } from '../limits.js';

type Release = (error?: Error | boolean) => void;
type Connected = (error: Error | undefined, client: PoolClient | undefined, done: Release) => void;

/** pg's pool with at most MOST_WAITING calls that wait for a connection. */
export class BoundedPool extends pg.Pool {
  /** `performance.now()` of the last statement that failed because the server's disk was full. */
  diskFullAt = -Infinity;

  constructor(config?: PoolConfig) {
    super(config);
    this.on('connect', (client: EventEmitter) => {
      client.on('disk full', () => (this.diskFullAt = performance.now()));
    });
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<PoolClient> | void {
    const isFull = this.waitingCount >= MOST_WAITING;
    const error = isFull && new DatabaseBusy('too many requests wait for a connection to the database');
    if (!callback) return error ? Promise.reject(error) : super.connect();
    if (error) return callback(error, undefined, () => undefined);
    super.connect(currentTracer()?.bind(callback) ?? callback); // another request may call it
  }
}
