import { Injectable } from '@nestjs/common';
import type { ProviderSettings } from '../../../platform/config/settings/settings.js';
import { Clock } from '../../../platform/database/clock.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { namesOf } from '../transmitter/transmitter.js';
import { discover, fetchKeys } from '../../../provider/adapters/oidc-client.js';
import { ASYMMETRIC } from '../../../provider/adapters/unsupported.js';
import { ProviderHttp } from '../../../provider/transport/provider-http.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { AHEAD_S, readLogout, type Logout } from './logout-claims.js';
import { issuerIn, RemoteKeys, type Signer, type Verified } from './remote-keys.js';

const DEFAULT_ALGORITHMS = ['RS256']; // algorithm if the document lists none (OpenID Connect Core §3.1.3.7)

/**
 * Validates logout tokens of providers (OpenID Connect Back-Channel Logout 1.0 §2.6), and keeps the
 * providers' keys.
 */
@Injectable()
export class LogoutTokens {
  private readonly keys = new Map<string, RemoteKeys>();

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
    const { clientId } = this.providers.get(name).settings;
    const now = this.clock.now() / 1000;
    const options = {
      audience: clientId,
      currentDate: new Date(now * 1000),
      clockTolerance: AHEAD_S, // for `nbf`; readLogout validates `exp`
    };
    try {
      return await this.keysOf(name, issuerIn(token)).verify(token, options, (verified) =>
        readVerified(verified, now),
      );
    } catch (error) {
      if (error instanceof OAuthError) throw error;
      throw new OAuthError('invalid_request', 'the logout token is not valid', {
        cause: new Error((error as Error).message),
      });
    }
  }

  /**
   * Returns the keys of an OpenID provider, which it names with its issuer.
   * @param issuer of the token; those of `signals_issuer` are its own (docs/directory/okta.md)
   */
  keysOf(name: string, issuer?: string): RemoteKeys {
    const { settings } = this.providers.get(name);
    const [own, other] = namesOf(settings) as [string, string];
    const isOther = other !== own && issuer === other;
    const signer = isOther ? { ...settings, url: other, issuer: undefined } : settings;
    const key = isOther ? `${name} ${other}` : name;
    const keys = this.keys.get(key) ?? new RemoteKeys(() => this.fetch(signer));
    this.keys.set(key, keys);
    return keys;
  }

  private async fetch(provider: ProviderSettings): Promise<Signer> {
    const metadata = await discover(this.http, provider);
    const { issuer, id_token_signing_alg_values_supported: supported = DEFAULT_ALGORITHMS } = metadata;
    const keys = await fetchKeys(this.http, provider, metadata);
    const algorithms = supported.filter((alg) => ASYMMETRIC.test(alg)); // §2.6: as for ID tokens
    return { issuer, algorithms, keys };
  }
}

function readVerified({ payload, protectedHeader: { typ } }: Verified, now: number): Logout {
  if (typ !== undefined && !mayBeLogout(typ)) throw new Error('typ is that of another type of token');
  return readLogout(payload, now);
}

/**
 * `logout+jwt` (RFC 8725 §3.11), or `JWT` (Glewlwyd); case-insensitive, `application/` is optional
 * (RFC 7515 §4.1.9).
 */
function mayBeLogout(typ: unknown): boolean {
  return typeof typ === 'string' && /^(?:application\/)?(?:logout\+)?jwt$/i.test(typ);
}
