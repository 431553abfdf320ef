import { Injectable } from '@nestjs/common';
import { createLocalJWKSet, decodeProtectedHeader, errors, jwtVerify, type JSONWebKeySet } from 'jose';
import type { ProviderSettings } from '../../config/settings/settings.js';
import { Clock } from '../../database/clock.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { discover, fetchKeys, withoutSecrets } from '../adapters/oidc-client.js';
import { ASYMMETRIC } from '../adapters/unsupported.js';
import { ProviderHttp } from '../transport/provider-http.js';
import { ProviderRegistry } from '../provider.registry.js';
import { KeptKeys, type Verification } from './kept-keys.js';
import { AHEAD_S, readLogout, type Logout } from './logout-claims.js';

const DEFAULT_ALGORITHMS = ['RS256']; // algorithm if the document lists none (OpenID Connect Core §3.1.3.7)

/** Validates logout tokens of providers (OpenID Connect Back-Channel Logout 1.0 §2.6), and keeps the providers' keys. */
@Injectable()
export class LogoutTokens {
  private readonly keys = new Map<string, KeptKeys>();

  constructor(
    private readonly providers: ProviderRegistry,
    private readonly http: ProviderHttp,
    private readonly clock: Clock,
  ) {}

  /**
   * Validates a token, except that it may have been used before.
   * @throws OAuthError `invalid_request` for a bad token, without a reason; `server_error` (503) without the provider's keys
   */
  async verify(name: string, token: string): Promise<Logout> {
    const { settings } = this.providers.get(name);
    const keys = this.keysOf(settings);
    const since = keys.now();
    const first = await orTryAgain(keys.current());
    try {
      return await this.validate(token, settings, first);
    } catch (error) {
      if (!mayMatchNewer(error)) throw bad(error);
    }
    const { verification, isCertain } = await orTryAgain(keys.newest(since));
    return this.validate(token, settings, verification).catch((error: unknown) => {
      // A stranger's token may have caused the one fetch, so the provider may send this token again (contract §6).
      if (!isCertain && mayMatchNewer(error) && isOfUnknownKey(error, token))
        throw unavailable(withoutClaims(error), keys.mayFetchIn);
      throw bad(error);
    });
  }

  private async validate(token: string, { clientId }: ProviderSettings, by: Verification): Promise<Logout> {
    const now = this.clock.now() / 1000;
    const { payload, protectedHeader } = await jwtVerify(token, by.keys, {
      algorithms: by.algorithms,
      issuer: by.issuer,
      audience: clientId,
      currentDate: new Date(now * 1000),
      clockTolerance: AHEAD_S, // for `nbf`; readLogout validates `exp`
    });
    const { typ } = protectedHeader;
    if (typ !== undefined && !mayBeLogout(typ)) throw new Error('typ is that of another type of token');
    return readLogout(payload, now);
  }

  private keysOf(provider: ProviderSettings): KeptKeys {
    const kept = this.keys.get(provider.name) ?? new KeptKeys(() => this.fetch(provider));
    this.keys.set(provider.name, kept);
    return kept;
  }

  private async fetch(provider: ProviderSettings): Promise<Verification> {
    const metadata = await discover(this.http, provider);
    const { issuer, id_token_signing_alg_values_supported: supported = DEFAULT_ALGORITHMS } = metadata;
    const algorithms = supported.filter((alg) => ASYMMETRIC.test(alg)); // §2.6: as for ID tokens
    const keys = (await fetchKeys(this.http, provider, metadata)) as unknown as JSONWebKeySet; // jose validates them
    return { issuer, algorithms, keys: createLocalJWKSet(keys) };
  }
}

/** `logout+jwt` (RFC 8725 §3.11), or `JWT` (Glewlwyd); case-insensitive, `application/` is optional (RFC 7515 §4.1.9). */
function mayBeLogout(typ: unknown): boolean {
  return typeof typ === 'string' && /^(?:application\/)?(?:logout\+)?jwt$/i.test(typ);
}

/** Whether newer keys may match: `kid` is unknown, or now names another key. */
function mayMatchNewer(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
}

/** Without `kid`, a wrong signature may mean a new key. */
function isOfUnknownKey(error: unknown, token: string): boolean {
  const { kid } = decodeProtectedHeader(token) as { kid?: unknown };
  return kid === undefined || (typeof kid === 'string' && error instanceof errors.JWKSNoMatchingKey);
}

function bad(error: unknown): OAuthError {
  return new OAuthError('invalid_request', 'the logout token is not valid', { cause: withoutClaims(error) });
}

/** jose's errors contain the claims; only the message is kept. */
function withoutClaims(error: unknown): Error {
  return new Error((error as Error).message);
}

async function orTryAgain<T>(keys: Promise<T>): Promise<T> {
  try {
    return await keys;
  } catch (error) {
    throw unavailable(withoutSecrets(error));
  }
}

/** @param cause without secrets @param wait milliseconds until the token may be sent again */
function unavailable(cause: unknown, wait = 0): OAuthError {
  return new OAuthError('server_error', 'the keys of the identity provider cannot be had right now', {
    status: 503,
    cause,
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(wait / 1000))) },
  });
}
