import type { Session } from '../events.js';
import type { Identity } from '../provider/identity.js';
import type { IssuedAccessToken } from '../token/access-token.js';

/** What a sign-in writes. */
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
