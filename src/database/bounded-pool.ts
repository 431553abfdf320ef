import type { EventEmitter } from 'node:events';
import { Logger } from '@nestjs/common';
import pg, { type PoolClient, type PoolConfig } from 'pg';
import { currentTracer } from '../spans.js';
import { cancelling } from './cancelling-client.js';
import { DatabaseBusy, MOST_WAITING } from './database-busy.js';
import { errorCode } from './error-facts.js';

type Release = (error?: Error | boolean) => void;
type Connected = (error: Error | undefined, client: PoolClient | undefined, done: Release) => void;

const TOO_MANY_CONNECTIONS = '53300';
/** After that answer, how long no further connection is asked for. */
const SHORTAGE_MS = 500;
/** How often the log says so. */
const TELL_EVERY_MS = 60_000;

/**
 * pg's pool, with three bounds: no more than MOST_WAITING wait for a connection, as long as `connectionTimeoutMillis`; a
 * connection counts until the server is rid of it, so the server never has more than `max`; and where the server has none left,
 * those of this pool are shared.
 */
export class BoundedPool extends pg.Pool {
  /** When a statement last found no room on the server's disk, by `performance.now()`. */
  diskFullAt = -Infinity;
  /** The most connections that it may have. */
  readonly size: number;
  private readonly logger = new Logger('Database');
  /** Connections of ours that the server may still have … */
  private readonly established = new Set<PoolClient>();
  /** … and those of them that pg's pool does not count any more. */
  private readonly leaving = new Set<PoolClient>();
  private shortage: NodeJS.Timeout | undefined;
  private toldAt = -Infinity;

  constructor(config?: PoolConfig) {
    // pg's type says less of a client than pg's pool needs: one that can be made, and ended.
    super({ ...config, Client: cancelling((config?.Client ?? pg.Client) as typeof pg.Client) });
    this.size = this.options.max;
    this.on('connect', (client) => this.watch(client));
    this.on('remove', (client) => this.forget(client));
  }

  /** Connections that were told to end, and that the server may still have. */
  get leavingCount(): number {
    return this.leaving.size;
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<PoolClient> | void {
    if (callback) return this.attempt(callback);
    return new Promise((resolve, reject) =>
      this.attempt((error, client) => (error ? reject(error) : resolve(client!))),
    );
  }

  private attempt(then: Connected): void {
    const callback = currentTracer()?.bind(then) ?? then; // a connection may be handed on within another request
    if (this.waitingCount >= MOST_WAITING) {
      callback(
        new DatabaseBusy('too many requests wait for a connection to the database'),
        undefined,
        nothing,
      );
      return;
    }
    super.connect((error, client, release) => {
      if (this.isShort(error)) this.waitForOwn(error!, callback);
      else callback(error, client, release);
    });
  }

  /** Whether the server has no connection left for us, and we have some that can be shared. */
  private isShort(error: Error | undefined): boolean {
    return errorCode(error) === TOO_MANY_CONNECTIONS && this.established.size > 0;
  }

  /** Waits for one of our own, as long as for any other. */
  private waitForOwn(refusal: Error, callback: Connected): void {
    let isOver = false;
    const limit = setTimeout(() => {
      isOver = true;
      callback(refusal, undefined, nothing);
    }, this.options.connectionTimeoutMillis ?? 0);
    const wait = (): void => {
      super.connect((error, client, release) => {
        if (isOver) return error ? undefined : release();
        if (this.isShort(error)) return waitShort();
        clearTimeout(limit);
        callback(error, client, release);
      });
    };
    const waitShort = (): void => {
      this.runShort();
      wait();
    };
    waitShort();
  }

  private runShort(): void {
    clearTimeout(this.shortage);
    this.shortage = setTimeout(() => {
      this.shortage = undefined;
      this.recount();
    }, SHORTAGE_MS).unref();
    this.recount();
    if (performance.now() - this.toldAt < TELL_EVERY_MS) return;
    this.toldAt = performance.now();
    const { size } = this.established;
    this.logger.warn(
      `the database has no connection left: ${size} of ${this.size} are shared by all requests`,
    );
  }

  private watch(client: PoolClient): void {
    this.established.add(client);
    const told: EventEmitter = client;
    told.once('leaving', () => {
      this.leaving.add(client);
      this.recount();
    });
    told.on('disk full', () => (this.diskFullAt = performance.now()));
  }

  private forget(client: PoolClient): void {
    this.established.delete(client);
    this.leaving.delete(client);
    this.recount();
  }

  /** How many connections pg's pool may have, beside those that are leaving. */
  private recount(): void {
    const most = this.shortage ? Math.max(1, this.established.size) : this.size;
    this.options.max = most - this.leaving.size;
  }
}

function nothing(): void {}

/** The driver for TypeORM: pg, with the bounded pool. */
export const boundedPg = { ...pg, Pool: BoundedPool };
