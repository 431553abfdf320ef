import { randomBytes, randomUUID } from 'node:crypto';
import type { SignIn } from '../../src/auth/sign-in/sign-in-together.js';
import { parseIdentity } from '../../src/provider/identity/identity.js';
import { userIdOf } from '../../src/user/user-id.js';

/** A sign-in at the provider `corp` as it is written, for tests of the database without a service. */
export function signInOf(name: string, fields: Partial<SignIn> = {}, deviceId: string | null = null): SignIn {
  const jti = randomUUID();
  const expiresAt = Math.floor(Date.now() / 1000) + 900;
  return {
    session: { userId: userIdOf('corp', name), sessionId: randomUUID(), deviceId },
    provider: 'corp',
    identity: parseIdentity({ provider_user_id: name }),
    providerSubject: null,
    providerSession: null,
    deviceName: null,
    userAgent: null,
    jkt: null,
    refreshTokenHash: randomBytes(32),
    refreshTokenTtl: 3600,
    accessToken: { token: `header.${name}.signature`, jti, expiresAt, expiresIn: 900 },
    ...fields,
  };
}
