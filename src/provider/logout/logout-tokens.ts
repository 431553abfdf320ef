import { Injectable } from '@nestjs/common';
import {
  createRemoteJWKSet,
  customFetch,
  decodeProtectedHeader,
  errors,
  jwtVerify,
  type CryptoKey,
  type JWTVerifyGetKey,
} from 'jose';
import type { ProviderSettings } from '../../config/settings/settings.js';
import { Clock } from '../../database/clock.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { discover, fetchKeys, withoutSecrets } from '../adapters/oidc-client.js';
import { ASYMMETRIC } from '../adapters/unsupported.js';
import { ProviderHttp } from '../transport/provider-http.js';
import { ProviderRegistry } from '../provider.registry.js';
import { AHEAD_S, readLogout, type Logout } from './logout-claims.js';

const DEFAULT_ALGORITHMS = ['RS256']; // algorithm if the document lists none (OpenID Connect Core §3.1.3.7)

const LIFE_MS = 300_000; // milliseconds for which keys are used; a withdrawn key is valid for as long
/** Pause after a fetch for an unknown key, before the next one: anyone can make up tokens of unknown keys. */
const PAUSE_MS = 30_000;
const FAILURE_PAUSE_MS = 1000; // pause after a failed fetch, in which its error is the answer

class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

/** What verifies the tokens of a provider. Times are of `performance.now()`. */
class ProviderKeys {
  private readonly cachedKeys = createRemoteJWKSet(new URL('https://keys.invalid'), {
    [customFetch]: () => this.fetchOrFail(),
    cacheMaxAge: LIFE_MS,
    cooldownDuration: Infinity, // it counts from any fetch: see `find`
  });
  issuer = '';
  algorithms: readonly string[] = [];
  /** Begin and end of the last fetch. */
  beganAt = -Infinity;
  private endedAt = -Infinity;
  private refetchedAt = -Infinity;
  private failure: KeysUnavailable | undefined;

  constructor(
    private readonly http: ProviderHttp,
    private readonly provider: ProviderSettings,
  ) {}

  /** Milliseconds until an unknown key may cause a fetch again. */
  get pause(): number {
    return Math.max(0, this.refetchedAt + PAUSE_MS - performance.now());
  }

  /**
   * Finds the key of a token; the keys are fetched again for an unknown one, at most once in 30 s
   * (docs/security.md#providers).
   */
  readonly find: JWTVerifyGetKey<CryptoKey> = async (header, token) => {
    const since = performance.now();
    try {
      return await this.cachedKeys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const isOwn = !this.cachedKeys.reloading;
      if (isOwn && (this.beganAt >= since || this.pause > 0)) throw error;
      await this.cachedKeys.reload();
      if (isOwn) this.refetchedAt = performance.now(); // not after a failure, which has its own pause
      return this.cachedKeys(header, token);
    }
  };

  private async fetchOrFail(): Promise<Response> {
    if (this.failure && performance.now() < this.endedAt + FAILURE_PAUSE_MS) throw this.failure;
    this.beganAt = performance.now();
    try {
      const keys = await this.fetch();
      this.failure = undefined;
      return keys;
    } catch (error) {
      throw (this.failure = new KeysUnavailable('no keys', { cause: withoutSecrets(error) }));
    } finally {
      this.endedAt = performance.now();
    }
  }

  private async fetch(): Promise<Response> {
    const metadata = await discover(this.http, this.provider);
    const { issuer, id_token_signing_alg_values_supported: supported = DEFAULT_ALGORITHMS } = metadata;
    const keys = await fetchKeys(this.http, this.provider, metadata);
    this.issuer = issuer;
    this.algorithms = supported.filter((alg) => ASYMMETRIC.test(alg)); // §2.6: as for ID tokens
    return Response.json(keys);
  }
}

/**
 * Validates logout tokens of providers (OpenID Connect Back-Channel Logout 1.0 §2.6), and keeps the
 * providers' keys.
 */
@Injectable()
export class LogoutTokens {
  private readonly keys = new Map<string, ProviderKeys>();

  constructor(
    private readonly providers: ProviderRegistry,
    private readonly http: ProviderHttp,
    private readonly clock: Clock,
  ) {}

  /**
   * Validates a token, except that it may have been used before.
   * @throws OAuthError `invalid_request` for a bad token, without a reason; `server_error` (503) without the
   *   provider's keys
   */
  async verify(name: string, token: string): Promise<Logout> {
    const { settings } = this.providers.get(name);
    const keys = this.keys.get(name) ?? new ProviderKeys(this.http, settings);
    this.keys.set(name, keys);
    const since = performance.now();
    try {
      return await this.validate(token, settings, keys);
    } catch (error) {
      if (error instanceof KeysUnavailable) throw unavailable(error.cause);
      // The provider may have made the key since the last fetch, so it may send this token again
      // (docs/providers.md#back-channel-logout).
      if (error instanceof errors.JWKSNoMatchingKey && keys.beganAt < since && isUsual(token, keys))
        throw unavailable(withoutClaims(error), keys.pause);
      throw new OAuthError('invalid_request', 'the logout token is not valid', {
        cause: withoutClaims(error),
      });
    }
  }

  private async validate(token: string, { clientId }: ProviderSettings, keys: ProviderKeys): Promise<Logout> {
    const now = this.clock.now() / 1000;
    const { payload, protectedHeader } = await jwtVerify(token, keys.find, {
      audience: clientId,
      currentDate: new Date(now * 1000),
      clockTolerance: AHEAD_S, // for `nbf`; readLogout validates `exp`
    });
    const { typ, alg } = protectedHeader;
    // After the signature: the fetch of the keys also brings issuer and algorithms.
    if (payload.iss !== keys.issuer) throw new Error('iss is not the issuer');
    if (!keys.algorithms.includes(alg)) throw new Error('alg is not one of the provider');
    if (typ !== undefined && !mayBeLogout(typ)) throw new Error('typ is that of another type of token');
    return readLogout(payload, now);
  }
}

/**
 * `logout+jwt` (RFC 8725 §3.11), or `JWT` (Glewlwyd); case-insensitive, `application/` is optional
 * (RFC 7515 §4.1.9).
 */
function mayBeLogout(typ: unknown): boolean {
  return typeof typ === 'string' && /^(?:application\/)?(?:logout\+)?jwt$/i.test(typ);
}

/** Whether newer keys of the provider may match the header of a token. */
function isUsual(token: string, { algorithms }: ProviderKeys): boolean {
  const { alg = '', kid } = decodeProtectedHeader(token) as { alg?: string; kid?: unknown };
  return algorithms.includes(alg) && (kid === undefined || typeof kid === 'string');
}

/** jose's errors contain the claims; only the message is kept. */
function withoutClaims(error: unknown): Error {
  return new Error((error as Error).message);
}

/** @param cause without secrets @param wait milliseconds until the token may be sent again */
function unavailable(cause: unknown, wait = 0): OAuthError {
  return new OAuthError('server_error', 'the keys of the identity provider cannot be had right now', {
    status: 503,
    cause,
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(wait / 1000))) },
  });
}
