import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { appendEvent, OWN_EVENTS_TTL } from '../channel/append.sql.js';
import type { Settings } from '../config/settings.js';
import { SETTINGS } from '../config/settings.module.js';
import { Sql } from '../database/sql.js';
import { DEVICE_FACTS, upsertDevice } from '../device/device.sql.js';
import { OAuthError } from '../errors/oauth-error.js';
import { Events, type ChannelEvent } from '../events.js';
import { insertAccessToken, insertRefreshToken, isProofUsed } from '../token/session.sql.js';
import { upsertUser } from '../user/user.sql.js';
import type { SignIn } from './sign-in.js';
import { signInInSteps } from './sign-in-in-steps.js';

/**
 * Everything that a sign-in writes, in one statement and so in one transaction: all of it is stored, or nothing. It spans
 * rooms: each room offers the SQL for its own tables (`*.sql.ts`), and this file puts it together.
 * A sign-in on a device is announced on the user's channel (contract §7).
 *
 * The user's row is locked first, then the device's, then the counter's: so does whoever removes a user (users.service.ts),
 * and PostgreSQL says in no order in which the members of a `WITH` are done that do not name each other.
 */
const RECORD = {
  name: 'sign-in',
  text: `
    WITH signed_in_user AS (${upsertUser({
      userId: '$1',
      provider: '$2',
      providerUserId: '$3',
      username: '$4',
      email: '$5',
      avatarUrl: '$6',
    })}
      RETURNING user_id
    ), device AS (${upsertDevice(
      { userId: '$1', deviceId: '$7', deviceName: '$8', userAgent: '$9' },
      'signed_in_user',
    )}
    ), ${appendEvent({
      userId: '$1',
      id: '$16::uuid',
      event: `'device.signed_in'`,
      data: `${DEVICE_FACTS}::text`,
      ttl: String(OWN_EVENTS_TTL),
      history: '$17',
      from: 'device',
    })}, refresh_token AS (${insertRefreshToken({
      userId: '$1',
      sessionId: '$10',
      deviceId: '$7',
      tokenHash: '$11',
      ttl: '$12',
      jkt: '$18',
      providerSubject: '$19',
      providerSession: '$20',
    })}
    ), access_token AS (${insertAccessToken({
      userId: '$1',
      sessionId: '$10',
      jti: '$13',
      expiresAt: '$14',
      token: '$15',
    })}
    )
    SELECT event_offset, data, sent_at FROM channel_event`,
};

@Injectable()
export class SignInStore {
  constructor(
    private readonly sql: Sql,
    private readonly dataSource: DataSource,
    private readonly events: Events,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Records a sign-in. Once this has returned, its tokens survive a crash.
   * @throws OAuthError `invalid_dpop_proof` when a token was issued for its proof before, to the same user
   */
  async record(signIn: SignIn): Promise<void> {
    const id = randomUUID();
    const { session, provider } = signIn;
    const recording = this.sql.distributed ? this.recordInSteps(signIn, id) : this.recordAtOnce(signIn, id);
    const row = await recording.catch((error: unknown) => {
      if (!isProofUsed(error)) throw error;
      throw new OAuthError('invalid_dpop_proof', 'the DPoP proof was used before');
    });
    this.events.emit('session.started', { ...session, provider });
    if (row) this.events.emit('channel.appended', channelEvent(id, session.userId, row));
  }

  private async recordAtOnce(signIn: SignIn, id: string): Promise<SignedInRow | undefined> {
    const { session, provider, identity, deviceName, userAgent, accessToken } = signIn;
    const [row] = await this.sql.query<SignedInRow & Record<string, unknown>>(RECORD, [
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
      signIn.jkt,
      signIn.providerSubject,
      signIn.providerSession,
    ]);
    return row;
  }

  private recordInSteps(signIn: SignIn, id: string): Promise<SignedInRow | undefined> {
    return this.dataSource.transaction((manager) =>
      signInInSteps(manager, signIn, id, this.settings.channelHistory),
    );
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
