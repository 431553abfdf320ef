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

/** What a provider signs with that does not say (OpenID Connect Core §3.1.3.7). */
const USUAL = ['RS256'];

/** Judges the logout tokens of providers (OpenID Connect Back-Channel Logout 1.0 §2.6), and keeps their keys for it. */
@Injectable()
export class LogoutTokens {
  private readonly keys = new Map<string, KeptKeys>();

  constructor(
    private readonly providers: ProviderRegistry,
    private readonly http: ProviderHttp,
    private readonly clock: Clock,
  ) {}

  /**
   * What a token asks for. Whether it was obeyed before is not looked at.
   *
   * @param name of a provider whose adapter is `oidc`
   * @throws OAuthError `invalid_request` for a bad token, without telling what is wrong; `server_error` (503) when
   *   the provider's keys cannot be had: it may send the token again
   */
  async verify(name: string, token: string): Promise<Logout> {
    const { settings } = this.providers.get(name);
    const keys = this.keysOf(settings);
    const since = keys.now();
    const first = await orTryAgain(keys.current());
    try {
      return await this.judge(token, settings, first);
    } catch (error) {
      if (!mayFitOthers(error)) throw bad(error);
    }
    const { verification, isCertain } = await orTryAgain(keys.newest(since));
    return this.judge(token, settings, verification).catch((error: unknown) => {
      // Tokens of a stranger can use up the fetch for unknown keys, so the provider may send this one again (contract §6).
      if (!isCertain && mayFitOthers(error) && isOfUnknownKey(error, token))
        throw unavailable(withoutClaims(error), keys.mayFetchIn);
      throw bad(error);
    });
  }

  private async judge(token: string, { clientId }: ProviderSettings, by: Verification): Promise<Logout> {
    const now = this.clock.now() / 1000;
    const { payload, protectedHeader } = await jwtVerify(token, by.keys, {
      algorithms: by.algorithms,
      issuer: by.issuer,
      audience: clientId,
      currentDate: new Date(now * 1000),
      clockTolerance: AHEAD_S, // for `nbf`; `exp` is judged below, without any
    });
    const { typ } = protectedHeader;
    if (typ !== undefined && !mayBeLogout(typ)) throw new Error('typ is that of another kind of token');
    return readLogout(payload, now);
  }

  private keysOf(provider: ProviderSettings): KeptKeys {
    const kept = this.keys.get(provider.name) ?? new KeptKeys(() => this.fetch(provider));
    this.keys.set(provider.name, kept);
    return kept;
  }

  private async fetch(provider: ProviderSettings): Promise<Verification> {
    const metadata = await discover(this.http, provider);
    const { issuer, id_token_signing_alg_values_supported: supported = USUAL } = metadata;
    const keys = (await fetchKeys(this.http, provider, metadata)) as unknown as JSONWebKeySet; // judged by jose
    return {
      issuer,
      // §2.6: as an ID token's
      algorithms: supported.filter((alg) => ASYMMETRIC.test(alg)),
      keys: createLocalJWKSet(keys),
    };
  }
}

/**
 * `logout+jwt` (RFC 8725 §3.11), or `JWT`, which says no more than none at all and is what Glewlwyd sends. In any case of
 * letters, and `application/` may be left out (RFC 7515 §4.1.9).
 */
function mayBeLogout(typ: unknown): boolean {
  return typeof typ === 'string' && /^(?:application\/)?(?:logout\+)?jwt$/i.test(typ);
}

/** Newer keys may fit: it names one that we do not know, or one whose name was given to another. */
function mayFitOthers(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed;
}

/** Without `kid` in the token, a wrong signature may mean a new key. */
function isOfUnknownKey(error: unknown, token: string): boolean {
  const { kid } = decodeProtectedHeader(token) as { kid?: unknown };
  return kid === undefined || (typeof kid === 'string' && error instanceof errors.JWKSNoMatchingKey);
}

function bad(error: unknown): OAuthError {
  return new OAuthError('invalid_request', 'the logout token is not valid', { cause: withoutClaims(error) });
}

/** Only words of the library's and our own are kept: its errors hold the claims. */
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

/** @param cause without secrets. @param wait milliseconds until the token may be sent again */
function unavailable(cause: unknown, wait = 0): OAuthError {
  return new OAuthError('server_error', 'the keys of the identity provider cannot be had right now', {
    status: 503,
    cause,
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(wait / 1000))) },
  });
}
