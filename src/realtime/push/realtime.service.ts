import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { appendInSteps } from '../../channel/append-in-steps.js';
import { APPEND_TO_TARGET } from '../../channel/append.sql.js';
import { IdempotencyStore } from '../../channel/idempotency.store.js';
import { PresenceStore } from '../../channel/presence.store.js';
import { SETTINGS, type Settings } from '../../config/settings/settings.js';
import { Sql } from '../../database/sql.js';
import { OneAtATime } from '../../database/limits.js';
import { hasDevice } from '../../device/device.sql.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { Events, type ChannelEvent } from '../../events.js';
import { holdUser, selectUser } from '../../user/user.sql.js';
import { ChannelHub } from '../delivery/channel-hub.js';
import { Fanout } from '../fanout/fanout.js';
import type { Pushed } from './push.dto.js';

const DEFAULT_TTL = 86_400;

interface PushOptions {
  readonly deviceId?: string | undefined;
  readonly ttl?: number | undefined;
  /** A push with this key is done once in 24 hours; a push of other content with this key is rejected. */
  readonly idempotencyKey?: string | undefined;
}

type NewEvent = Omit<ChannelEvent, 'offset' | 'sentAt'> & { readonly ttl: number };

interface Row {
  readonly event_offset: string | null;
  readonly sent_at: Date;
}

/** Finds the target and appends the event: one statement that spans modules. Returns no row if the user or their device does not exist. */
const PUSH = {
  name: 'push',
  text: `
    WITH target AS (
      ${holdUser('$1', `($5::uuid IS NULL OR ${hasDevice('$1', '$5')})`)}
    ), ${APPEND_TO_TARGET}
    SELECT event_offset, sent_at FROM channel_event`,
};

const HOLD_TARGET = holdUser('$1', `($2::uuid IS NULL OR ${hasDevice('$1', '$2')})`);

/** The targets of pushes with a `ttl` of 0, which write nothing. */
const UNKEPT = {
  name: 'push-unkept',
  text: `
    SELECT n.place::int, NULL AS event_offset, now() AS sent_at
    FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS n (user_id, device_id, place)
    CROSS JOIN LATERAL (${selectUser('n.user_id', `(n.device_id IS NULL OR ${hasDevice('n.user_id', 'n.device_id')})`)}) AS target`,
};

/** Sends events to users, for `POST /push` and for code that runs inside the service. */
@Injectable()
export class RealtimeService {
  private readonly findTarget: (event: NewEvent) => Promise<Row | undefined>;

  /** Events of a user wait for the lock of the channel, each with a connection: one at a time. */
  private readonly queue = new OneAtATime('too many events of one user');

  constructor(
    private readonly sql: Sql,
    private readonly dataSource: DataSource,
    @Inject(SETTINGS) private readonly settings: Settings,
    private readonly idempotency: IdempotencyStore,
    private readonly presence: PresenceStore,
    private readonly fanout: Fanout,
    private readonly channels: ChannelHub,
    private readonly events: Events,
  ) {
    this.findTarget = sql.batched('push-unkept', (pushes: NewEvent[]) => this.findTargets(pushes));
  }

  /**
   * Stores an event in a user's history, and delivers it to their sockets on all instances.
   * @param event a name as PushDto requires it
   * @throws OAuthError `not_found` for an unknown user or device, `invalid_request` for data that is too large and for a key that
   *   was used with another push, `server_error` while the database or Redis is away (nothing was written)
   */
  async push(userId: string, event: string, given: unknown, options: PushOptions = {}): Promise<Pushed> {
    const data = given ?? null;
    const { deviceId = null, ttl = DEFAULT_TTL, idempotencyKey } = options;
    if (ttl === 0) this.fanout.assertCarries(data);
    await this.fanout.assertUp();
    const online = await this.isOnline(userId, deviceId);
    const newEvent = { id: randomUUID(), userId, deviceId, event, data, ttl };
    let pushed: ChannelEvent | undefined;
    const push = async (manager?: EntityManager): Promise<Pushed> => {
      pushed = await this.store(newEvent, manager);
      return { id: pushed.id, offset: pushed.offset, online };
    };
    const content = [userId, event, data, deviceId, ttl];
    const run = (): Promise<Pushed> =>
      idempotencyKey === undefined ? push() : this.idempotency.once(idempotencyKey, content, push);
    // An event with `ttl` 0 takes no lock, and shares its statement.
    const answer = await (ttl === 0 && idempotencyKey === undefined ? run() : this.queue.run(userId, run));
    if (pushed) this.events.emit('channel.appended', pushed);
    return answer;
  }

  private async isOnline(userId: string, deviceId: string | null): Promise<boolean> {
    if (this.channels.hasOpen(userId, deviceId)) return true;
    const devices = await this.presence.onlineDevices(userId);
    return deviceId === null ? devices.size > 0 : devices.has(deviceId);
  }

  /** @returns the event as stored @throws OAuthError `not_found` */
  private async store(event: NewEvent, manager?: EntityManager): Promise<ChannelEvent> {
    const row = await (manager ? this.pushIn(manager, event) : this.pushAlone(event));
    if (!row) throw new OAuthError('not_found', 'there is no such user or device');
    const { ttl: _ttl, ...stored } = event;
    const offset = row.event_offset === null ? null : Number(row.event_offset);
    return { ...stored, offset, sentAt: row.sent_at.toISOString() };
  }

  private async findTargets(events: NewEvent[]): Promise<(Row | undefined)[]> {
    const columns = [events.map(({ userId }) => userId), events.map(({ deviceId }) => deviceId)];
    const found = await this.sql.query<Row & { readonly place: number }>(UNKEPT, columns);
    const rows = new Map(found.map((row) => [row.place, row]));
    return events.map((_, i) => rows.get(i + 1));
  }

  private async pushAlone(pushed: NewEvent): Promise<Row | undefined> {
    const { userId, id, event, data, deviceId, ttl } = pushed;
    if (ttl === 0) return this.findTarget(pushed);
    if (this.sql.distributed) return this.dataSource.transaction((manager) => this.pushIn(manager, pushed));
    const { channelHistory } = this.settings;
    const values = [userId, id, event, JSON.stringify(data), deviceId, ttl, channelHistory];
    const [row] = await this.sql.query<Row>(PUSH, values);
    return row;
  }

  /** Pushes in steps: on Citus the one statement is slow (append-in-steps.ts). */
  private async pushIn(manager: EntityManager, event: NewEvent): Promise<Row | undefined> {
    const [target] = await manager.query<unknown[]>(HOLD_TARGET, [event.userId, event.deviceId]);
    if (target === undefined) return undefined;
    if (event.ttl > 0) {
      const appended = { ...event, data: JSON.stringify(event.data) };
      return appendInSteps(manager, appended, this.settings.channelHistory);
    }
    const [unkept] = await manager.query<Row[]>('SELECT NULL AS event_offset, now() AS sent_at');
    return unkept;
  }
}
