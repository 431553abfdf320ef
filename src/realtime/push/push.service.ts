import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { IdempotencyStore } from '../../channel/idempotency.store.js';
import { PresenceStore } from '../../channel/presence.store.js';
import { OneAtATime } from '../../platform/database/limits.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { Events, type ChannelEvent } from '../../platform/events.js';
import { ChannelHub } from '../delivery/channel-hub.js';
import { Fanout } from '../fanout/fanout.js';
import { PushWriter, type PushedEvent } from './push-writer.js';
import { DEFAULT_TTL, type Pushed } from './push.dto.js';

interface PushOptions {
  readonly deviceId?: string | undefined;
  readonly ttl?: number | undefined;
  /** A push with this key is done once in 24 hours; a push of other content with this key is rejected. */
  readonly idempotencyKey?: string | undefined;
}

/** Sends events to users, for `POST /push` and for code that runs inside the service. */
@Injectable()
export class PushService {
  /** Events of a user wait for the lock of the channel, each with a connection: one at a time. */
  private readonly queue = new OneAtATime('too many events of one user');

  constructor(
    private readonly writer: PushWriter,
    private readonly idempotency: IdempotencyStore,
    private readonly presence: PresenceStore,
    private readonly fanout: Fanout,
    private readonly channels: ChannelHub,
    private readonly events: Events,
  ) {}

  /**
   * Stores an event in a user's history, and delivers it to their sockets on all instances.
   * @param event a name as PushDto requires it
   * @throws OAuthError `not_found` for an unknown user or device, `invalid_request` for data that is too
   *   large and for a key that was used with another push, `server_error` while the database or Redis is away
   */
  async push(userId: string, event: string, value: unknown, options: PushOptions = {}): Promise<Pushed> {
    const data = value ?? null;
    const { deviceId = null, ttl = DEFAULT_TTL, idempotencyKey } = options;
    if (ttl === 0) this.fanout.assertCarries(data);
    await this.fanout.assertUp();
    const online = await this.isOnline(userId, deviceId);
    const newEvent = { id: randomUUID(), userId, deviceId, event, data, ttl };
    let pushed: ChannelEvent | undefined;
    const push = async (manager?: EntityManager): Promise<Pushed> => {
      pushed = await this.write(newEvent, manager);
      return { id: pushed.id, offset: pushed.offset, online };
    };
    const content = [userId, event, data, deviceId, ttl];
    const run = (): Promise<Pushed> =>
      idempotencyKey === undefined ? push() : this.idempotency.once(idempotencyKey, content, push);
    // An event with `ttl` 0 takes no lock, and is batched.
    const answer = await (ttl === 0 && idempotencyKey === undefined ? run() : this.queue.run(userId, run));
    if (pushed) this.events.emit('channel.appended', [pushed]);
    return answer;
  }

  private async isOnline(userId: string, deviceId: string | null): Promise<boolean> {
    if (this.channels.hasOpen(userId, deviceId)) return true;
    const devices = await this.presence.onlineDevices(userId);
    return deviceId === null ? devices.size > 0 : devices.has(deviceId);
  }

  /** @throws OAuthError `not_found` */
  private async write(event: PushedEvent, manager?: EntityManager): Promise<ChannelEvent> {
    const row = await this.writer.write(event, manager);
    if (!row) throw new OAuthError('not_found', 'there is no such user or device');
    const { ttl: _ttl, ...pushed } = event;
    const offset = row.event_offset === null ? null : Number(row.event_offset);
    return { ...pushed, offset, sentAt: row.sent_at.toISOString() };
  }
}
