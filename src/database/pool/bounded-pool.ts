import type { EventEmitter } from 'node:events';
import pg, { type PoolClient, type PoolConfig } from 'pg';
import { currentTracer } from '../../spans.js';
import { DatabaseBusy, MOST_WAITING } from '../database-busy.js';

type Release = (error?: Error | boolean) => void;
type Connected = (error: Error | undefined, client: PoolClient | undefined, done: Release) => void;

/** pg's pool, in which no more than MOST_WAITING wait for a connection. */
export class BoundedPool extends pg.Pool {
  /** When a statement last found no room on the server's disk, by `performance.now()`. */
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
    super.connect(currentTracer()?.bind(callback) ?? callback); // it may be called within another request
  }
}

/** The driver for TypeORM: pg, with the bounded pool. */
export const boundedPg = { ...pg, Pool: BoundedPool };
