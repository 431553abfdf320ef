import { Inject, Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { SETTINGS, type Settings } from '../../config/settings/settings.js';
import { Clock } from '../../database/clock.js';
import { plainArray } from '../../database/batching.js';
import { Sql } from '../../database/sql.js';
import { OAuthError } from '../../errors/oauth-error.js';
import type { SessionIds } from '../../events.js';
import { KeyService } from '../keys/key.service.js';
import { readClaims, type AccessTokenClaims } from './access-token.js';
import { ACCESS_TOKEN, ACCESS_TOKENS } from './introspect.sql.js';

export interface VerifiedToken {
  readonly session: SessionIds;
  readonly claims: AccessTokenClaims;
  /** The key that signed it. */
  readonly kid: string;
  /** Version of the user's claims now. */
  readonly claimsVersion: number;
}

declare module 'express-serve-static-core' {
  interface Request {
    /** Set by the guard if a proxy passes a token on. */
    verified?: VerifiedToken;
  }
}

type Signed = Pick<VerifiedToken, 'claims' | 'kid'>;

interface Presented {
  readonly token: string;
  readonly claims: AccessTokenClaims;
}

/** Verifies access tokens: of requests, of sockets, and for introspection. */
@Injectable()
export class AccessTokenVerifier {
  /**
   * Resolves to the version of the user's claims, or to undefined if the token is not stored or its session
   * is signed out.
   */
  private readonly findStored: (presented: Presented) => Promise<number | undefined>;

  constructor(
    private readonly jwt: JwtService,
    private readonly keys: KeyService,
    private readonly clock: Clock,
    private readonly sql: Sql,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.findStored = sql.batched('access-token', (presented: Presented[]) => this.findEach(presented));
  }

  /** @throws OAuthError `invalid_token`, without the reason; errors of the database */
  async verify(token: string): Promise<VerifiedToken> {
    const verified = await this.find(token);
    if (verified) return verified;
    throw invalidToken('the access token is invalid, has expired or was ended');
  }

  /**
   * Verifies signature, `typ`, `iss`, `aud`, `exp`; then, in one statement, that the token is stored and its
   * session not signed out.
   * @returns undefined if the token is invalid
   * @throws errors of the database, also if an unknown key cannot be looked up
   */
  async find(token: string): Promise<VerifiedToken | undefined> {
    const signed =
      this.checkSignature(token) ?? ((await this.keys.learn(token)) ? this.checkSignature(token) : undefined);
    if (!signed) return undefined;
    const { claims, kid } = signed;
    const claimsVersion = await this.findStored({ token, claims });
    if (claimsVersion === undefined) return undefined;
    const session = { userId: claims.sub, sessionId: claims.sid, deviceId: claims.device_id ?? null };
    return { session, claims, kid, claimsVersion };
  }

  private async findEach(presented: Presented[]): Promise<(number | undefined)[]> {
    const columns = [
      presented.map(({ claims }) => claims.sub),
      presented.map(({ claims }) => claims.sid),
      presented.map(({ claims }) => claims.jti),
      presented.map(({ token }) => token),
    ];
    const isOne = presented.length === 1;
    // No element needs escaping: our signature covers these UUIDs and this base64url.
    const rows = await this.sql.query<{ place: number; claimsVersion: number }>(
      isOne ? ACCESS_TOKEN : ACCESS_TOKENS,
      columns.map((column) => (isOne ? column[0] : plainArray(column))),
    );
    const versions = new Map(rows.map(({ place, claimsVersion }) => [place, claimsVersion]));
    return presented.map((_, i) => versions.get(i + 1));
  }

  /** @returns undefined unless one of our keys signed the token and it has not expired */
  private checkSignature(token: string): Signed | undefined {
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
}

/** @param challenge without an error attribute if no bearer token was presented (RFC 6750 §3.1) */
export function invalidToken(description: string, challenge = 'Bearer error="invalid_token"'): OAuthError {
  return new OAuthError('invalid_token', description, { headers: { 'WWW-Authenticate': challenge } });
}
