import type { Session } from '../../events.js';
import type { Identity } from '../../provider/identity/identity.js';
import type { IssuedAccessToken } from '../../token/access-tokens/access-token.js';

/** What a sign-in writes. */
export interface SignIn {
  readonly session: Session;
  readonly provider: string;
  readonly identity: Identity;
  /** By what the provider may end the session (contract §6): hashes of its subject, and of its session. */
  readonly providerSubject: Buffer | null;
  readonly providerSession: Buffer | null;
  readonly deviceName: string | null;
  readonly userAgent: string | null;
  /** The key that the session is bound to: its thumbprint (RFC 7638). Null: it is not bound (contract §5). */
  readonly jkt: Buffer | null;
  readonly refreshTokenHash: Buffer;
  /** Seconds. */
  readonly refreshTokenTtl: number;
  readonly accessToken: IssuedAccessToken;
}
