import {
  compactVerify,
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  UnsecuredJWT,
  type CompactVerifyGetKey,
  type CryptoKey,
  type JSONWebKeySet,
  type JWTPayload,
} from 'jose';
import { OAuthError, type ErrorCode } from '../../platform/errors/oauth-error.js';
import type { RateLimits } from '../../platform/http/rate-limit.js';

const LIFE_MS = 300_000; // milliseconds for which keys are used; a withdrawn key is valid for as long
/** Pause after a fetch for an unknown key, before the next one: anyone can make up tokens of unknown keys. */
const PAUSE_MS = 30_000;
const FAILURE_PAUSE_MS = 1000; // pause after a failed fetch, in which its error is the answer

/** Who signs, and with which keys. */
export interface Signer {
  readonly issuer: string;
  readonly algorithms: readonly string[];
  readonly keys: JSONWebKeySet;
}

/** What a token must have besides a signature. */
export interface TokenRules {
  /** Accepted `typ` in lower case, without `application/` (RFC 7515 §4.1.9); undefined: none. */
  readonly types: readonly (string | undefined)[];
  readonly audience: string | string[];
  /** Seconds since the epoch. */
  readonly now: number;
  /** Seconds by which the signer's clock may differ. */
  readonly tolerance: number;
}

/** Keys of one signer, kept in memory. Times are of `performance.now()`. */
export class RemoteKeys {
  private readonly cachedKeys = createRemoteJWKSet(new URL('https://keys.invalid'), {
    [customFetch]: () => this.fetchOrFail(),
    cacheMaxAge: LIFE_MS,
    cooldownDuration: Infinity, // it counts from any fetch: see `find`
  });
  private issuer = '';
  private algorithms: readonly string[] = [];
  /** Begin and end of the last fetch. */
  private beganAt = -Infinity;
  private endedAt = -Infinity;
  private refetchedAt = -Infinity;
  private failure: OAuthError | undefined;

  /** @param fetch asks the signer */
  constructor(private readonly fetch: () => Promise<Signer>) {}

  /**
   * Verifies a token: signature, `iss`, `alg`, `typ`, `aud`, `exp`, `nbf`, and what a check adds.
   * @param read reads the claims, of which those with null are absent; its error means a bad token, an
   *   OAuthError is thrown as it is
   * @throws OAuthError `server_error` (503) without the keys; BadToken
   */
  async verify<T>(token: string, rules: TokenRules, read: (claims: JWTPayload) => T): Promise<T> {
    const since = performance.now();
    try {
      const { protectedHeader } = await compactVerify(token, this.find);
      const { alg, b64, typ } = protectedHeader;
      if (b64 === false) throw new Error('b64 is not allowed'); // RFC 7797 §7
      const claims = readClaims(token, rules);
      // After the signature: the fetch of the keys also brings issuer and algorithms.
      if (claims.iss !== this.issuer) {
        throw new errors.JWTClaimValidationFailed('iss is not the issuer', {}, 'iss');
      }
      if (!this.algorithms.includes(alg)) throw new Error('alg is not one of the signer');
      const type: unknown = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ;
      if (!(rules.types as readonly unknown[]).includes(type)) throw new Error('typ is another');
      return read(claims);
    } catch (error) {
      // The signer may have made the key since the last fetch, so it may send this token again
      // (docs/provider-sign-out.md#back-channel-logout).
      if (error instanceof errors.JWKSNoMatchingKey && this.beganAt < since && this.isUsual(token))
        throw unavailable(withoutClaims(error), this.pause);
      throw error instanceof OAuthError ? error : withoutClaims(error);
    }
  }

  /** Milliseconds until an unknown key may cause a fetch again. */
  private get pause(): number {
    return Math.max(0, this.refetchedAt + PAUSE_MS - performance.now());
  }

  /**
   * Finds the key of a token; the keys are fetched again for an unknown one, at most once in 30 s
   * (docs/security.md#providers).
   */
  private readonly find: CompactVerifyGetKey<CryptoKey> = async (header, token) => {
    const since = performance.now();
    try {
      return await this.cachedKeys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (!this.cachedKeys.reloading && (this.beganAt >= since || this.pause > 0)) throw error;
      await this.cachedKeys.reload();
      this.refetchedAt = performance.now(); // not after a failure, which has its own pause
      return this.cachedKeys(header, token);
    }
  };

  private async fetchOrFail(): Promise<Response> {
    if (this.failure && performance.now() < this.endedAt + FAILURE_PAUSE_MS) throw this.failure;
    this.beganAt = performance.now();
    try {
      const { issuer, algorithms, keys } = await this.fetch();
      this.issuer = issuer;
      this.algorithms = algorithms;
      this.failure = undefined;
      return Response.json(keys);
    } catch (error) {
      throw (this.failure = unavailable(error));
    } finally {
      this.endedAt = performance.now();
    }
  }

  /** Whether newer keys of the signer may match the header of a token. */
  private isUsual(token: string): boolean {
    const { alg = '', kid } = decodeProtectedHeader(token) as { alg?: string; kid?: unknown };
    return this.algorithms.includes(alg) && (kid === undefined || typeof kid === 'string');
  }
}

/** Reads claims as `jwtVerify` does, which refuses an optional time that is null. */
function readClaims(token: string, { audience, now, tolerance }: TokenRules): JWTPayload {
  const plain = new UnsecuredJWT(withoutNulls(decodeJwt(token))).encode();
  const options = { audience, currentDate: new Date(now * 1000), clockTolerance: tolerance };
  return UnsecuredJWT.decode(plain, options).payload;
}

/**
 * Returns an object without its members that are null: serializers write them for absent ones.
 * @public
 */
export function withoutNulls(object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

/** Returns the issuer that a token names, without a final slash; nothing is verified. @public */
export function issuerIn(token: string): string | undefined {
  try {
    const { iss } = decodeJwt(token);
    return typeof iss === 'string' ? iss.replace(/\/$/, '') : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A token that is not valid. `about`: the claim, if one of them is the reason, or `signature` or `key`.
 * @public
 */
export class BadToken extends Error {
  override readonly name = 'BadToken';

  constructor(
    message: string,
    readonly about: string | undefined,
  ) {
    super(message);
  }
}

/** jose's errors contain the claims; only the message is kept. */
function withoutClaims(error: unknown): BadToken {
  const { message } = error as Error;
  if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired) {
    return new BadToken(message, error.claim);
  }
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) {
    return new BadToken(message, 'key');
  }
  const isForged = error instanceof errors.JWSSignatureVerificationFailed;
  return new BadToken(message, isForged ? 'signature' : undefined);
}

/**
 * Counts a bad token for its address, also one of an unknown key, which may be new or made up. Good tokens
 * are never refused.
 * @param code of errors that mean a bad token
 * @returns a handler that throws the error again
 * @public
 */
export function countBadToken(limits: RateLimits, code: ErrorCode, address: string | undefined) {
  return async (error: unknown): Promise<never> => {
    const { error: thrown, cause } = error instanceof OAuthError ? error : {};
    const isOfUnknownKey = cause instanceof BadToken && cause.about === 'key';
    if (thrown === code || isOfUnknownKey) await limits.count('bad_token', address);
    throw error;
  };
}

/** @param wait milliseconds until the token may be sent again */
function unavailable(cause: unknown, wait = 0): OAuthError {
  return new OAuthError('server_error', 'the keys of the identity provider cannot be had right now', {
    status: 503,
    cause,
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(wait / 1000))) },
  });
}
