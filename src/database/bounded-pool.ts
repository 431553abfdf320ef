import pg, { type PoolClient } from 'pg';
import { DatabaseBusy, MOST_WAITING } from './database-busy.js';

type Connected = (error: Error | undefined, client?: PoolClient, release?: (error?: Error) => void) => void;

/** pg's pool, where no more than MOST_WAITING may wait for a connection; `connectTimeoutMS` bounds how long they wait. */
class BoundedPool extends pg.Pool {
  override connect(): Promise<PoolClient>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<PoolClient> | void {
    if (this.waitingCount < MOST_WAITING) return callback ? super.connect(callback) : super.connect();
    const error = new DatabaseBusy('too many requests wait for a connection to the database');
    return callback ? callback(error) : Promise.reject(error);
  }
}

/** The driver for TypeORM: pg, with the bounded pool. */
export const boundedPg = { ...pg, Pool: BoundedPool };
