import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { AuditFacts, Origin } from '../../audit/audit-event.js';
import { AuditStore } from '../../audit/audit.store.js';
import { DeviceStore } from '../../device/device.store.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { Events, type SessionIds } from '../../events.js';
import type { Identity } from '../../provider/identity/identity.js';
import type { IssuedAccessToken } from '../../token/access-tokens/access-token.js';
import type { UserClaims } from '../../identity/claims.js';
import { lockUser } from '../../user/lock-user.js';
import { searchKey } from '../../user/search-key.js';
import { isProofUsed } from '../../token/sessions/session.sql.js';

export interface SignIn {
  readonly session: SessionIds;
  readonly provider: string;
  readonly identity: Identity;
  /** Hashes of the provider's subject and session, by which the provider may end the session. */
  readonly providerSubject: Buffer | null;
  readonly providerSession: Buffer | null;
  /** Encrypted (IdTokens); null: not kept. */
  readonly idToken: Buffer | null;
  readonly deviceName: string | null;
  readonly userAgent: string | null;
  /** Thumbprint (RFC 7638) of the key that the session is bound to; null: not bound. */
  readonly jkt: Buffer | null;
  readonly refreshTokenHash: Buffer;
  /** Seconds. */
  readonly refreshTokenTtl: number;
  readonly accessToken: IssuedAccessToken;
  /** Claims of the access token, which a new user gets. */
  readonly claims: UserClaims;
  readonly origin: Origin;
}

export function auditOf({ session, provider, identity, userAgent, origin }: SignIn): AuditFacts {
  const { userId } = session;
  const from = { ...origin, userAgent, actor: { type: 'user', name: userId } } as const;
  return { event: 'sign_in', ...session, provider, providerUserId: identity.providerUserId, origin: from };
}

export function keyOf(text: string | null): string | null {
  return text === null ? null : searchKey(text);
}

/** Event that announces a sign-in on a device; `data` is JSON. */
export interface SignedInRow {
  readonly id: string;
  readonly event_offset: string;
  readonly data: string;
  readonly sent_at: Date;
}

/**
 * Why nothing was written: the bound of the user that the sign-in exceeds (docs/security.md#database), the
 * user is suspended, or the claims of the user are not those of the token.
 */
export type Refused = 'session' | 'device' | 'suspended' | 'claims';

/** Result of a sign-in; a sign-in without a device has no event. */
export type Written = SignedInRow | Refused | undefined;

/** Writes all rows of a sign-in, or none. StepwiseSignIns is for Citus. */
export abstract class SignInWriter {
  abstract write(signIn: SignIn): Promise<Written>;
}

/** Attempts to make room for a new device: a concurrent sign-in may take the room. */
const TRIES = 3;
/** Seconds. A session may end at any time. */
const RETRY_AFTER = '60';

/** Records sign-ins. It spans modules: errors of the token table say why a sign-in was refused. */
@Injectable()
export class SignInStore {
  constructor(
    private readonly writer: SignInWriter,
    private readonly dataSource: DataSource,
    private readonly audit: AuditStore,
    private readonly events: Events,
    private readonly devices: DeviceStore,
  ) {}

  /**
   * Records a sign-in. Once this has returned, its tokens survive a crash.
   * @throws OAuthError `invalid_dpop_proof` if its proof was used before; `invalid_grant` if the user is suspended; `slow_down` if the
   *   user has too many sessions or devices
   * @returns false if nothing was written, because the user has other claims than the token
   */
  async record(signIn: SignIn): Promise<boolean> {
    const { session } = signIn;
    let row = await this.write(signIn);
    for (let left = TRIES; row === 'device' && left > 0 && (await this.makeRoom(signIn)); left--)
      row = await this.write(signIn);
    if (row === 'claims') return false;
    if (row === 'suspended') {
      throw new OAuthError('invalid_grant', 'the user is suspended', { reason: 'suspended' });
    }
    if (typeof row === 'string') {
      const message = `the user has too many ${row}s: sign out of some of them first`;
      throw new OAuthError('slow_down', message, { headers: { 'Retry-After': RETRY_AFTER } });
    }
    if (!row) return true;
    this.events.emit('channel.appended', {
      id: row.id,
      userId: session.userId,
      deviceId: null,
      offset: Number(row.event_offset),
      event: 'device.signed_in',
      data: JSON.parse(row.data) as unknown,
      sentAt: row.sent_at.toISOString(),
    });
    return true;
  }

  private async write(signIn: SignIn): Promise<Written> {
    try {
      return await this.writer.write(signIn);
    } catch (error) {
      if (!isProofUsed(error)) throw error;
      throw new OAuthError('invalid_dpop_proof', 'the DPoP proof was used before');
    }
  }

  /** Removes the device that has been signed out the longest. @returns whether there is one */
  private makeRoom({ session: { userId }, provider, origin }: SignIn): Promise<boolean> {
    return this.dataSource.transaction(async (manager) => {
      await lockUser(manager, userId);
      const deviceId = await this.devices.removeSignedOutLongest(manager, userId);
      if (deviceId === undefined) return false;
      const [event, reason] = ['device_removed', 'too many devices'] as const;
      await this.audit.write(manager, [{ event, userId, deviceId, provider, reason, origin }]);
      return true;
    });
  }
}
