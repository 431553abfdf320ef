import { Injectable } from '@nestjs/common';
import type { ProviderSettings } from '../../../platform/config/settings/settings.js';
import { discover, fetchKeys } from '../../../provider/adapters/oidc-client.js';
import { ASYMMETRIC } from '../../../provider/adapters/unsupported.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { ProviderHttp } from '../../../provider/transport/provider-http.js';
import { RemoteKeys, type Signer } from './remote-keys.js';
import { discoverTransmitter, namesOf } from './transmitter.js';

const DEFAULT_ALGORITHMS = ['RS256']; // algorithm if the document lists none (OpenID Connect Core §3.1.3.7)
/** The metadata of a transmitter lists no algorithms: all with a public key (RFC 8725 §3.1). */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');

/** Keeps the keys with which providers and their transmitters sign. */
@Injectable()
export class SignerKeys {
  private readonly keys = new Map<string, RemoteKeys>();
  private readonly critical = new Map<string, readonly string[]>();

  constructor(
    private readonly providers: ProviderRegistry,
    private readonly http: ProviderHttp,
  ) {}

  /**
   * Returns the keys of an OpenID provider, which it names with its issuer.
   * @param issuer of the token; those of `signals_issuer` are its own (docs/directory/okta.md)
   */
  ofProvider(name: string, issuer?: string): RemoteKeys {
    const { settings } = this.providers.get(name);
    const [own, other] = namesOf(settings);
    if (other === own || issuer !== other) return this.get(name, () => this.fetchOfProvider(settings));
    const signer = { ...settings, url: other, issuer: undefined };
    return this.get(`${name} ${other}`, () => this.fetchOfProvider(signer));
  }

  ofTransmitter(name: string): RemoteKeys {
    return this.get(`${name} signals`, () => this.fetchOfTransmitter(this.providers.get(name).settings));
  }

  /** Returns `critical_subject_members` of a transmitter, after a fetch of its keys. */
  criticalMembers(name: string): readonly string[] {
    return this.critical.get(name) ?? [];
  }

  private get(key: string, fetch: () => Promise<Signer>): RemoteKeys {
    const keys = this.keys.get(key) ?? new RemoteKeys(fetch);
    this.keys.set(key, keys);
    return keys;
  }

  private async fetchOfProvider(provider: ProviderSettings): Promise<Signer> {
    const metadata = await discover(this.http, provider);
    const { issuer, id_token_signing_alg_values_supported: supported = DEFAULT_ALGORITHMS } = metadata;
    const keys = await fetchKeys(this.http, provider, metadata);
    // OpenID Connect Back-Channel Logout 1.0 §2.6: as for ID tokens
    return { issuer, algorithms: supported.filter((alg) => ASYMMETRIC.test(alg)), keys };
  }

  private async fetchOfTransmitter(provider: ProviderSettings): Promise<Signer> {
    const { issuer, jwksUri, criticalSubjectMembers } = await discoverTransmitter(this.http, provider);
    const metadata = { issuer, ...(jwksUri !== undefined && { jwks_uri: jwksUri }) };
    const keys = await fetchKeys(this.http, provider, metadata);
    this.critical.set(provider.name, criticalSubjectMembers);
    return { issuer, algorithms: ALGORITHMS, keys };
  }
}
