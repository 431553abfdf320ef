import { createHash, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { IdempotencyStore, type IdempotentRequest } from '../../channel/idempotency.store.js';
import { PresenceStore } from '../../channel/presence.store.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { Events, type ChannelEvent } from '../../events.js';
import { Fanout } from '../fanout/fanout.js';
import { PushStore } from './push.store.js';
import { ChannelHub } from '../delivery/channel-hub.js';
import { EVENT_NAME, type Pushed } from './push.dto.js';

/** Levels of arrays and objects (contract §3). */
const DEEPEST = 100;
/** Characters. Data from a request of 64 KiB is shorter, however its numbers were written. */
const LONGEST = 512 * 1024;

/**
 * Converts data to what JSON can express: live events, the history and other instances must agree.
 * @param data undefined counts as null
 * @throws OAuthError `invalid_request` for data that JSON cannot express, that is too deep or too long
 */
export function jsonData(data: unknown): unknown {
  const value = reparsed(data);
  if (value === undefined || !isNestedWithin(value, DEEPEST)) {
    throw new OAuthError('invalid_request', `data must be JSON of at most ${DEEPEST} levels and 512 KiB`);
  }
  return value;
}

function reparsed(data: unknown): unknown {
  try {
    const json = JSON.stringify(data ?? null) as string | undefined; // of a function: undefined
    return json === undefined || json.length > LONGEST ? undefined : JSON.parse(json);
  } catch {
    return undefined; // circular, deeper than the stack, a BigInt, a toJSON that throws
  }
}

/** Never descends deeper than `levels`, since a value may be deeper than the stack. */
function isNestedWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isNestedWithin(member, levels - 1));
}

const DEFAULT_TTL = 86_400;
const KEY_TTL = 86_400;

export interface PushOptions {
  readonly deviceId?: string;
  /** Seconds in the history; 0: not kept. Default: a day. */
  readonly ttl?: number;
  /** A push with this key is done once in 24 hours; a push of other content with this key is rejected. */
  readonly idempotencyKey?: string;
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
   * @param event 1 to 128 letters, digits and `_ . : -`; not a reserved name
   * @param given data: JSON of at most 100 levels and 512 KiB; with a `ttl` of 0 and without Redis 4 KiB
   * @throws OAuthError `not_found` for an unknown user or device, `invalid_request` for other data and for a key that was used with
   *   another push, `server_error` while the database or Redis is away (nothing was written)
   */
  async push(userId: string, event: string, given: unknown, options: PushOptions = {}): Promise<Pushed> {
    if (!EVENT_NAME.test(event))
      throw new OAuthError('invalid_request', 'this event name is reserved or malformed');
    const data = jsonData(given);
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
    const result =
      idempotencyKey === undefined
        ? { answer: await push() }
        : await this.idempotency.once(requestOf(idempotencyKey, content), push);
    if (result === 'other body') {
      throw new OAuthError('invalid_request', 'this Idempotency-Key was used with another body');
    }
    if (!result?.answer) throw new OAuthError('not_found', 'there is no such user or device');
    if (pushed) this.events.emit('channel.appended', pushed);
    return result.answer;
  }

  private async isOnline(userId: string, deviceId: string | null): Promise<boolean> {
    if (this.channels.hasOpen(userId, deviceId)) return true;
    const devices = await this.presence.onlineDevices(userId);
    return deviceId === null ? devices.size > 0 : devices.has(deviceId);
  }
}

function requestOf(key: string, content: unknown[]): IdempotentRequest {
  return { keyHash: sha256(key), bodyHash: sha256(JSON.stringify(content)), ttl: KEY_TTL };
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
