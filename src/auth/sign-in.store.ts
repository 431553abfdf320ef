import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { appendEvent } from '../channel/append.sql.js';
import { OWN_EVENTS_TTL, type ChannelEvent } from '../channel/channel-event.js';
import type { Settings } from '../config/settings.js';
import { SETTINGS } from '../config/settings.module.js';
import { Sql } from '../database/sql.js';
import { DEVICE_FACTS } from '../device/device.sql.js';
import { Events, type Session } from '../events.js';
import type { Identity } from '../provider/identity.js';
import type { IssuedAccessToken } from '../token/access-token.js';

export interface SignIn {
  readonly session: Session;
  readonly provider: string;
  readonly identity: Identity;
  readonly deviceName: string | null;
  readonly userAgent: string | null;
  readonly refreshTokenHash: Buffer;
  /** Seconds. */
  readonly refreshTokenTtl: number;
  readonly accessToken: IssuedAccessToken;
}

/**
 * Everything that a sign-in writes, in one statement and so in one transaction: all of it is there, or nothing.
 * - The provider's word about the user replaces what was stored: a field it left out is cleared (contract §6).
 *   Unchanged users are not written again.
 * - The same device signing in again keeps its row; what the client left out of it stays.
 * - A sign-in on a device is told on the user's channel (contract §7).
 */
const RECORD = {
  name: 'sign-in',
  text: `
    WITH signed_in_user AS (
      INSERT INTO users (user_id, provider, provider_user_id, username, email, avatar_url)
      VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (user_id) DO UPDATE
        SET username = excluded.username, email = excluded.email, avatar_url = excluded.avatar_url
        WHERE (users.username, users.email, users.avatar_url)
          IS DISTINCT FROM (excluded.username, excluded.email, excluded.avatar_url)
    ), device AS (
      INSERT INTO devices (user_id, device_id, device_name, user_agent)
      SELECT $1, $7::uuid, $8::text, $9::text WHERE $7 IS NOT NULL
      ON CONFLICT (user_id, device_id) DO UPDATE
        SET device_name = coalesce(excluded.device_name, devices.device_name),
          user_agent = coalesce(excluded.user_agent, devices.user_agent),
          last_seen_at = now()
      RETURNING device_id, device_name, user_agent, created_at, last_seen_at
    ), ${appendEvent({
      userId: '$1',
      id: '$16::uuid',
      event: `'device.signed_in'`,
      data: `${DEVICE_FACTS}::text`,
      ttl: String(OWN_EVENTS_TTL),
      history: '$17',
      from: 'device',
    })}, refresh_token AS (
      INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at)
      VALUES ($1, $10, $7, $11, now() + make_interval(secs => $12))
    ), access_token AS (
      INSERT INTO access_tokens (user_id, session_id, jti, expires_at, token)
      VALUES ($1, $10, $13, to_timestamp($14), $15)
    )
    SELECT event_offset, data, sent_at FROM channel_event`,
};

@Injectable()
export class SignInStore {
  constructor(
    private readonly sql: Sql,
    private readonly events: Events,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Records a sign-in. Once this has returned, its tokens survive a crash. */
  async record(signIn: SignIn): Promise<void> {
    const id = randomUUID();
    const { session, provider, identity, deviceName, userAgent, accessToken } = signIn;
    const [row] = await this.sql.query<SignedInRow>(RECORD, [
      session.userId,
      provider,
      identity.providerUserId,
      identity.username,
      identity.email,
      identity.avatarUrl,
      session.deviceId,
      deviceName,
      userAgent,
      session.sessionId,
      signIn.refreshTokenHash,
      signIn.refreshTokenTtl,
      accessToken.jti,
      accessToken.expiresAt,
      accessToken.token,
      id,
      this.settings.channelHistory,
    ]);
    this.events.emit('session.started', { ...session, provider });
    if (row) this.events.emit('channel.appended', channelEvent(id, session.userId, row));
  }
}

interface SignedInRow {
  readonly event_offset: string;
  readonly data: string;
  readonly sent_at: Date;
}

function channelEvent(id: string, userId: string, row: SignedInRow): ChannelEvent {
  return {
    id,
    userId,
    deviceId: null,
    offset: Number(row.event_offset),
    event: 'device.signed_in',
    data: JSON.parse(row.data) as unknown,
    sentAt: row.sent_at.toISOString(),
  };
}
