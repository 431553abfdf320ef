import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { IdempotencyStore } from '../../channel/idempotency.store.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { OneAtATime } from '../../platform/database/limits.js';
import { isLockConflict } from '../../platform/database/sql.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { Events, type ChannelEvent } from '../../platform/events.js';
import { ChannelHub } from '../delivery/channel-hub.js';
import { Fanout } from '../fanout/fanout.js';
import { BatchWriter, type BatchRow, type KnownTarget } from './batch-writer.js';
import type { BatchedResult } from './push-batch.dto.js';
import { readBatch, type Batch } from './read-batch.js';

const NOT_FOUND = new OAuthError('not_found', 'there is no such user or device');

/** A transaction that has taken the locks in another order may conflict again before it ends. */
const TRIES = 3;

/** Sends many events at once, for `POST /push/batch`. */
@Injectable()
export class PushBatchService {
  /** Batches may wait for the same locks, each with a connection: half of the pool's are for them. */
  private readonly queue: OneAtATime;

  constructor(
    private readonly writer: BatchWriter,
    private readonly idempotency: IdempotencyStore,
    private readonly fanout: Fanout,
    private readonly channels: ChannelHub,
    private readonly events: Events,
    @Inject(SETTINGS) { databasePoolSize }: Pick<Settings, 'databasePoolSize'>,
  ) {
    this.queue = new OneAtATime('too many batches of events', Math.ceil(databasePoolSize / 2));
  }

  /**
   * Stores events in their users' histories, and delivers them to their sockets on all instances.
   * @param received as in the body of the request, not validated
   * @returns what became of each event for each of its users, in the order given
   * @throws OAuthError `invalid_request` if there are too many users, or if the key was used with another
   *   batch; `server_error` while the database or Redis is away, then nothing was written
   */
  async push(received: readonly unknown[], idempotencyKey?: string): Promise<readonly BatchedResult[]> {
    const batch = readBatch(received, ({ ttl }, bytes) => {
      if (ttl === 0) this.fanout.assertCarriesBytes(bytes);
    });
    await this.fanout.assertUp();
    let appended: readonly ChannelEvent[] = [];
    const push = async (manager?: EntityManager): Promise<readonly BatchedResult[]> => {
      const written = await this.write(batch, manager);
      ({ appended } = written);
      return written.results;
    };
    const run = (): Promise<readonly BatchedResult[]> =>
      idempotencyKey === undefined ? push() : this.idempotency.once(idempotencyKey, [received], push);
    const results = await this.queue.run(idempotencyKey ?? randomUUID(), async () => {
      for (let left = TRIES; ; left--) {
        try {
          return await run();
        } catch (error) {
          if (left === 1 || !isLockConflict(error)) throw error;
        }
      }
    });
    if (appended.length > 0) this.events.emit('channel.appended', appended);
    return results;
  }

  private async write(
    { events, targets }: Batch,
    manager?: EntityManager,
  ): Promise<{ results: BatchedResult[]; appended: ChannelEvent[] }> {
    const known = targets.flatMap((target): KnownTarget[] => {
      if (target instanceof OAuthError) return [];
      return [{ ...target, online: this.channels.hasOpen(target.userId, events[target.event]!.deviceId) }];
    });
    const rows = known.length > 0 ? await this.writer.write(events, known, manager) : [];
    const appended: ChannelEvent[] = [];
    let next = 0;
    const results = targets.map((target) => {
      if (target instanceof OAuthError) return toRefusal(target);
      const row = rows[next++];
      if (row === undefined) return toRefusal(NOT_FOUND);
      if (row instanceof Error) return toRefusal(FAILED);
      const { event, data, deviceId } = events[target.event]!;
      const { userId, id } = target;
      const offset = offsetOf(row);
      appended.push({ id, userId, deviceId, offset, event, data, sentAt: row.sent_at.toISOString() });
      return { id, offset, online: row.online };
    });
    return { results, appended };
  }
}

/** Of users whose node of a Citus cluster is away. */
const FAILED = new OAuthError('server_error', 'the database is unavailable for this user');

function offsetOf({ event_offset: offset }: BatchRow): number | null {
  return offset === null ? null : Number(offset);
}

function toRefusal({ error, description }: OAuthError): BatchedResult {
  return { error, error_description: description };
}
