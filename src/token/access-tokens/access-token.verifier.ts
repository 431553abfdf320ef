import { Inject, Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { Clock } from '../../platform/database/clock.js';
import { plainArray } from '../../platform/database/batching.js';
import { Sql } from '../../platform/database/sql.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import type { SessionIds } from '../../platform/events.js';
import { KeyService } from '../keys/key.service.js';
import { readClaims, type AccessTokenClaims } from './access-token.js';
import { ACCESS_TOKEN, ACCESS_TOKENS, FORWARDED_TOKENS } from './introspect.sql.js';

interface Stored {
  /** Version of the user's claims now. */
  readonly claimsVersion: number;
  /** Of the user's profile; undefined unless `findForwarded` has read them. */
  readonly username?: string | null;
  readonly email?: string | null;
}

export interface VerifiedToken extends Stored {
  readonly session: SessionIds;
  readonly claims: AccessTokenClaims;
  /** The key that signed it. */
  readonly kid: string;
}

declare module 'express-serve-static-core' {
  interface Request {
    /** Set by the guard if the caller is a user, or a proxy passes a user's token on. */
    verified?: VerifiedToken;
  }
}

/** One or several that may be the token's `aud`. */
type Audience = string | readonly string[];

interface VerifyOptions {
  /** Whether to read the profile, too. */
  readonly isForwarded?: boolean;
  /** Default: the application's own. */
  readonly audience?: Audience;
}

type Signed = Pick<VerifiedToken, 'claims' | 'kid'>;

interface Presented {
  readonly token: string;
  readonly claims: AccessTokenClaims;
}

/** Verifies access tokens: of requests, of sockets, and for introspection. */
@Injectable()
export class AccessTokenVerifier {
  /** Resolves to undefined if the token is not stored or its session is signed out. */
  private readonly findStored: (presented: Presented) => Promise<Stored | undefined>;
  /** Does what `findStored` does, and reads the profile in the same statement. */
  private readonly findForwarded: typeof this.findStored;

  constructor(
    private readonly jwt: JwtService,
    private readonly keys: KeyService,
    private readonly clock: Clock,
    private readonly sql: Sql,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.findStored = sql.batched('access-token', (presented: Presented[]) => this.findEach(presented));
    this.findForwarded = sql.batched('forwarded-token', (presented: Presented[]) =>
      this.findRows(FORWARDED_TOKENS, presented),
    );
  }

  /** @throws OAuthError `invalid_token`, without the reason; errors of the database */
  async verify(token: string, options?: VerifyOptions): Promise<VerifiedToken> {
    const verified = await this.find(token, options);
    if (verified) return verified;
    throw invalidToken('the access token is invalid, has expired or was ended');
  }

  /**
   * Verifies signature, `typ`, `iss`, `aud`, `exp`; then, in one statement, that the token is stored and its
   * session not signed out.
   * @returns undefined if the token is invalid
   * @throws errors of the database, also if an unknown key cannot be looked up
   */
  async find(
    token: string,
    { isForwarded = false, audience = this.settings.publicUrl }: VerifyOptions = {},
  ): Promise<VerifiedToken | undefined> {
    const check = (): Signed | undefined => this.checkSignature(token, audience);
    const signed = check() ?? ((await this.keys.learn(token)) ? check() : undefined);
    if (!signed) return undefined;
    const { claims, kid } = signed;
    const stored = await (isForwarded ? this.findForwarded : this.findStored)({ token, claims });
    if (!stored) return undefined;
    const session = { userId: claims.sub, sessionId: claims.sid, deviceId: claims.device_id ?? null };
    return { session, claims, kid, ...stored };
  }

  private findEach(presented: Presented[]): Promise<(Stored | undefined)[]> {
    return this.findRows(presented.length === 1 ? ACCESS_TOKEN : ACCESS_TOKENS, presented);
  }

  private async findRows(
    statement: typeof ACCESS_TOKEN,
    presented: Presented[],
  ): Promise<(Stored | undefined)[]> {
    const columns = [
      presented.map(({ claims }) => claims.sub),
      presented.map(({ claims }) => claims.sid),
      presented.map(({ claims }) => claims.jti),
      presented.map(({ token }) => token),
    ];
    const isOne = statement === ACCESS_TOKEN;
    // No element needs escaping: our signature covers these UUIDs and this base64url.
    const rows = await this.sql.query<Stored & { place: number }>(
      statement,
      columns.map((column) => (isOne ? column[0] : plainArray(column))),
    );
    const found = new Map(rows.map(({ place, ...stored }) => [place, stored]));
    return presented.map((_, i) => found.get(i + 1));
  }

  /** @returns undefined unless one of our keys signed the token and it has not expired */
  private checkSignature(token: string, audience: Audience): Signed | undefined {
    try {
      const { publicUrl } = this.settings;
      const { header, payload } = this.jwt.verify<{ header: { kid: string }; payload: object }>(token, {
        complete: true,
        algorithms: ['ES256'],
        issuer: publicUrl,
        audience: audience as string | [string, ...string[]],
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
