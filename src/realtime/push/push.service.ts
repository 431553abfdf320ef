import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { IdempotencyStore } from '../../channel/idempotency.store.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { OneAtATime } from '../../platform/database/limits.js';
import { isLockConflict } from '../../platform/database/sql.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { Events, type ChannelEvent } from '../../platform/events.js';
import { UserStore } from '../../user/user.store.js';
import { ChannelHub } from '../delivery/channel-hub.js';
import { Fanout } from '../fanout/fanout.js';
import { PushWriter } from './push-writer.js';
import { DEFAULT_TTL, type Pushed } from './push.dto.js';
import { readBatch, type Batch } from './push-batch.dto.js';

interface PushOptions {
  readonly deviceId?: string | undefined;
  readonly ttl?: number | undefined;
  /** A push with this key is done once in 24 hours; a push of other content with this key is rejected. */
  readonly idempotencyKey?: string | undefined;
}

export type PushResult = Pushed | OAuthError;

const NOT_FOUND = new OAuthError('not_found', 'there is no such user or device');
/** Of users whose node of the database is away. */
const FAILED = new OAuthError('server_error', 'the database is unavailable for this user');

/** A transaction that has taken the locks in another order may conflict again before it ends. */
const TRIES = 3;

/** Sends events to users, for `POST /push`, `POST /push/batch` and for code that runs inside the service. */
@Injectable()
export class PushService {
  /** Events of a user wait for the lock of the channel, each with a connection: one at a time. */
  private readonly ofUsers = new OneAtATime('too many events of one user');
  /** Batches may wait for the same locks, each with a connection: half of the pool's are for them. */
  private readonly batches: OneAtATime;

  constructor(
    private readonly writer: PushWriter,
    private readonly idempotency: IdempotencyStore,
    private readonly fanout: Fanout,
    private readonly channels: ChannelHub,
    private readonly events: Events,
    private readonly users: UserStore,
    @Inject(SETTINGS) { databasePoolSize }: Pick<Settings, 'databasePoolSize'>,
  ) {
    this.batches = new OneAtATime('too many batches of events', Math.ceil(databasePoolSize / 2));
  }

  /**
   * Stores an event in a user's history, and delivers it to their sockets on all instances.
   * @param event a name as PushDto requires it
   * @throws OAuthError `not_found` for an unknown user or device, `invalid_request` for data that is too
   *   large and for a key that was used with another push, `server_error` while the database or Redis is away
   */
  async push(userId: string, event: string, value: unknown, options: PushOptions = {}): Promise<Pushed> {
    const data = value ?? null;
    const { deviceId = null, ttl = DEFAULT_TTL, idempotencyKey } = options;
    const json = JSON.stringify(data);
    if (ttl === 0) this.fanout.assertCarries(Buffer.byteLength(json));
    await this.fanout.assertUp();
    const batch = {
      events: [{ event, data, json, deviceId, ttl }],
      targets: [{ userId, id: randomUUID(), event: 0 }],
    };
    const send = (): Promise<Pushed> =>
      this.once(idempotencyKey, [userId, event, data, deviceId, ttl], batch, ([result]) => {
        if (result instanceof OAuthError) throw result; // the key is free again
        return result!;
      }).catch(async (error: unknown) => {
        const mergedInto = error === NOT_FOUND ? await this.users.mergedInto(userId) : undefined;
        if (mergedInto === undefined) throw error;
        throw new OAuthError('not_found', NOT_FOUND.description, { members: { merged_into: mergedInto } });
      });
    // An event with `ttl` 0 takes no lock, and is batched.
    return ttl === 0 && idempotencyKey === undefined ? send() : this.ofUsers.run(userId, send);
  }

  /**
   * Sends many events at once.
   * @param received as in the body of the request, not validated
   * @returns a result for each event and each of its users, in the order given
   * @throws OAuthError `invalid_request` if there are too many users, or if the key was used with another
   *   batch; `server_error` while the database or Redis is away, then nothing was written
   */
  async pushBatch<Answer>(
    received: readonly unknown[],
    toAnswer: (result: PushResult) => Answer,
    idempotencyKey?: string,
  ): Promise<Answer[]> {
    const batch = readBatch(received, ({ ttl }, bytes) => {
      if (ttl === 0) this.fanout.assertCarries(bytes);
    });
    await this.fanout.assertUp();
    return this.batches.run(idempotencyKey ?? randomUUID(), async () => {
      for (let left = TRIES; ; left--) {
        try {
          return await this.once(idempotencyKey, [received], batch, (results) => results.map(toAnswer));
        } catch (error) {
          if (left === 1 || !isLockConflict(error)) throw error;
        }
      }
    });
  }

  /** Writes and delivers a batch; with a key only the first time, later calls get the answer of that. */
  private async once<Answer>(
    key: string | undefined,
    content: unknown[],
    batch: Batch,
    toAnswer: (results: readonly PushResult[]) => Answer,
  ): Promise<Answer> {
    let appended: readonly ChannelEvent[] = [];
    const send = async (manager?: EntityManager): Promise<Answer> => {
      const written = await this.write(batch, manager);
      const answer = toAnswer(written.results);
      ({ appended } = written);
      return answer;
    };
    const answer = await (key === undefined ? send() : this.idempotency.once(key, content, send));
    if (appended.length > 0) this.events.emit('channel.appended', appended);
    return answer;
  }

  private async write(
    { events, targets }: Batch,
    manager?: EntityManager,
  ): Promise<{ results: PushResult[]; appended: ChannelEvent[] }> {
    const located = targets.flatMap((target) => {
      if (target instanceof OAuthError) return [];
      return [{ ...target, online: this.channels.hasOpen(target.userId, events[target.event]!.deviceId) }];
    });
    const rows = located.length > 0 ? await this.writer.write(events, located, manager) : [];
    const appended: ChannelEvent[] = [];
    let next = 0;
    const results = targets.map((target): PushResult => {
      if (target instanceof OAuthError) return target;
      const row = rows[next++];
      if (row === undefined) return NOT_FOUND;
      if (row instanceof Error) return FAILED;
      const { event, data, deviceId } = events[target.event]!;
      const { userId, id } = target;
      const offset = row.event_offset === null ? null : Number(row.event_offset);
      appended.push({ id, userId, deviceId, offset, event, data, sentAt: row.sent_at.toISOString() });
      return { id, offset, online: row.online };
    });
    return { results, appended };
  }
}
