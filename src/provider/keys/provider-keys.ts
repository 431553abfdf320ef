import { Injectable } from '@nestjs/common';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import { nameOf } from '../adapters/addresses.js';
import { discover, fetchKeys } from '../adapters/oidc-client.js';
import { ASYMMETRIC } from '../adapters/unsupported.js';
import { ProviderHttp } from '../transport/provider-http.js';
import { RemoteKeys, type Signer } from './remote-keys.js';

const DEFAULT_ALGORITHMS = ['RS256']; // algorithm if the document lists none (OpenID Connect Core §3.1.3.7)

/** Keeps the keys with which OpenID providers sign; they are fetched with the first token. */
@Injectable()
export class ProviderKeys {
  private readonly keys = new Map<string, RemoteKeys>();

  constructor(private readonly http: ProviderHttp) {}

  /** Returns the keys of a provider, which it names with its issuer. */
  of(provider: ProviderSettings): RemoteKeys {
    const key = `${provider.name} ${nameOf(provider)}`;
    const keys = this.keys.get(key) ?? new RemoteKeys(() => this.fetch(provider));
    this.keys.set(key, keys);
    return keys;
  }

  private async fetch(provider: ProviderSettings): Promise<Signer> {
    const metadata = await discover(this.http, provider);
    const { issuer, id_token_signing_alg_values_supported: supported = DEFAULT_ALGORITHMS } = metadata;
    const keys = await fetchKeys(this.http, provider, metadata);
    // as for ID tokens (OpenID Connect Back-Channel Logout 1.0 §2.6)
    return { issuer, algorithms: supported.filter((alg) => ASYMMETRIC.test(alg)), keys };
  }
}
