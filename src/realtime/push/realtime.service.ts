import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { IdempotencyStore } from '../../channel/idempotency.store.js';
import { PresenceStore } from '../../channel/presence.store.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { Events, type ChannelEvent } from '../../events.js';
import { Fanout } from '../fanout/fanout.js';
import { PushStore } from './push.store.js';
import { ChannelHub } from '../delivery/channel-hub.js';
import type { Pushed } from './push.dto.js';

const DEFAULT_TTL = 86_400;

export interface PushOptions {
  readonly deviceId?: string | undefined;
  readonly ttl?: number | undefined;
  /** A push with this key is done once in 24 hours; a push of other content with this key is rejected. */
  readonly idempotencyKey?: string | undefined;
}

/** Sends events to users, for `POST /push` and for code that runs inside the service. */
@Injectable()
export class RealtimeService {
  constructor(
    private readonly store: PushStore,
    private readonly idempotency: IdempotencyStore,
    private readonly presence: PresenceStore,
    private readonly fanout: Fanout,
    private readonly channels: ChannelHub,
    private readonly events: Events,
  ) {}

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
    const push = async (manager?: EntityManager): Promise<Pushed | undefined> => {
      pushed = await this.store.push(newEvent, manager);
      return pushed && { id: pushed.id, offset: pushed.offset, online };
    };
    const content = [userId, event, data, deviceId, ttl];
    const answer = await (idempotencyKey === undefined
      ? push()
      : this.idempotency.once(idempotencyKey, content, push));
    if (!answer) throw new OAuthError('not_found', 'there is no such user or device');
    if (pushed) this.events.emit('channel.appended', pushed);
    return answer;
  }

  private async isOnline(userId: string, deviceId: string | null): Promise<boolean> {
    if (this.channels.hasOpen(userId, deviceId)) return true;
    const devices = await this.presence.onlineDevices(userId);
    return deviceId === null ? devices.size > 0 : devices.has(deviceId);
  }
}
