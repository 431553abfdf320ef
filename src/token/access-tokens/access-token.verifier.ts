import { Inject, Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { SETTINGS, type Settings } from '../../config/settings/settings.js';
import { Clock } from '../../database/clock.js';
import { plainArray } from '../../database/batching.js';
import { Sql } from '../../database/sql.js';
import { OAuthError } from '../../errors/oauth-error.js';
import type { SessionIds } from '../../events.js';
import { KeyService } from '../keys/key.service.js';
import { claimsVersion } from '../../user/user.sql.js';
import { readHeader, verifyJwt } from '../keys/sign-jwt.js';
import { readClaims, type AccessTokenClaims } from './access-token.js';

export interface VerifiedToken {
  readonly session: SessionIds;
  readonly claims: AccessTokenClaims;
  /** The key that signed it. */
  readonly kid: string;
  /** Version of the user's claims now. */
  readonly claimsVersion: number;
}

// The token's text is compared as well: an ES256 signature has a second form that verifies and was never issued. With the
// session's id, both rows are found by their whole keys. The version shows whether kept claims are current. It
// uses tables of several modules.
const IS_LIVE = {
  name: 'access-token-is-live',
  text: `
    SELECT ${claimsVersion('$1')}::float8 AS version FROM access_tokens a
    JOIN refresh_tokens r ON r.user_id = a.user_id AND r.session_id = a.session_id
    WHERE a.user_id = $1 AND a.session_id = $2 AND a.jti = $3 AND a.token = $4 AND r.signed_out_at IS NULL`,
};

const ARE_LIVE = {
  name: 'access-tokens-are-live',
  text: `
    SELECT n.place::int, ${claimsVersion('n.user_id')}::float8 AS version
    FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[]) WITH ORDINALITY AS n (user_id, session_id, jti, token, place)
    JOIN access_tokens a ON a.user_id = n.user_id AND a.session_id = n.session_id AND a.jti = n.jti AND a.token = n.token
    JOIN refresh_tokens r ON r.user_id = n.user_id AND r.session_id = n.session_id
    WHERE r.signed_out_at IS NULL`,
};

type Signed = Pick<VerifiedToken, 'claims' | 'kid'>;

interface Presented {
  readonly token: string;
  readonly claims: AccessTokenClaims;
}

/** Verifies access tokens, for HTTP and sockets. */
@Injectable()
export class AccessTokenVerifier {
  /** Resolves to the version of the user's claims, or to undefined for a token that is not live. */
  private readonly liveVersion: (presented: Presented) => Promise<number | undefined>;

  constructor(
    private readonly jwt: JwtService,
    private readonly keys: KeyService,
    private readonly clock: Clock,
    private readonly sql: Sql,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.liveVersion = sql.batched('access-token', (presented: Presented[]) => this.areLive(presented));
  }

  /** @throws OAuthError `invalid_token`, without the reason; errors of the database */
  async verify(token: string): Promise<VerifiedToken> {
    const verified = await this.find(token);
    if (verified) return verified;
    throw invalidToken('the access token is invalid, has expired or was ended');
  }

  /**
   * Verifies signature, `typ`, `iss`, `aud`, `exp`; then, in one statement, that the token is stored and its session not signed out.
   * @returns undefined if the token is invalid
   * @throws errors of the database, also if an unknown key cannot be looked up
   */
  find(token: string): Promise<VerifiedToken | undefined> {
    return this.findSigned(token, () => this.checkSignature(token));
  }

  /** Does what `find` does, for introspection: with `node:crypto`, which takes less time (CONTRIBUTING.md). */
  inspect(token: string): Promise<VerifiedToken | undefined> {
    return this.findSigned(token, () => this.checkWithCrypto(token));
  }

  private async findSigned(
    token: string,
    check: () => Signed | undefined,
  ): Promise<VerifiedToken | undefined> {
    const signed = check() ?? ((await this.keys.learn(token)) ? check() : undefined);
    if (!signed) return undefined;
    const { claims, kid } = signed;
    const version = await this.liveVersion({ token, claims });
    if (version === undefined) return undefined;
    const session = { userId: claims.sub, sessionId: claims.sid, deviceId: claims.device_id ?? null };
    return { session, claims, kid, claimsVersion: version };
  }

  private async areLive(presented: Presented[]): Promise<(number | undefined)[]> {
    const columns = [
      presented.map(({ claims }) => claims.sub),
      presented.map(({ claims }) => claims.sid),
      presented.map(({ claims }) => claims.jti),
      presented.map(({ token }) => token),
    ];
    if (presented.length === 1) {
      const values = columns.map(([value]) => value);
      const [row] = await this.sql.query<{ version: number }>(IS_LIVE, values);
      return [row?.version];
    }
    // No element needs escaping: our signature covers these UUIDs and this base64url.
    const rows = await this.sql.query<{ place: number; version: number }>(ARE_LIVE, columns.map(plainArray));
    const versions = new Map(rows.map(({ place, version }) => [place, version]));
    return presented.map((_, i) => versions.get(i + 1));
  }

  /** @returns undefined unless one of our keys signed the token and it has not expired */
  private checkSignature(token: string): Signed | undefined {
    if (!readHeader(token)) return undefined; // jsonwebtoken parses all of it before it looks for the key
    try {
      const { publicUrl } = this.settings;
      const { header, payload } = this.jwt.verify<{ header: { kid: string }; payload: object }>(token, {
        complete: true,
        algorithms: ['ES256'],
        issuer: publicUrl,
        audience: publicUrl,
        clockTimestamp: this.clock.now() / 1000, // no leeway
      });
      const claims = readClaims(payload);
      return claims && { claims, kid: header.kid };
    } catch {
      return undefined;
    }
  }

  /** The same checks as of `checkSignature`. */
  private checkWithCrypto(token: string): Signed | undefined {
    try {
      const { kid, publicKey } = this.keys.verificationKey(token) ?? {};
      const claims = publicKey && readClaims(verifyJwt(token, publicKey));
      if (!claims || claims.exp <= this.clock.now() / 1000) return undefined;
      const { publicUrl } = this.settings;
      return claims.iss === publicUrl && claims.aud === publicUrl ? { claims, kid: kid! } : undefined;
    } catch {
      return undefined;
    }
  }
}

/** @param challenge without an error attribute if no bearer token was presented (RFC 6750 §3.1) */
export function invalidToken(description: string, challenge = 'Bearer error="invalid_token"'): OAuthError {
  return new OAuthError('invalid_token', description, { headers: { 'WWW-Authenticate': challenge } });
}
