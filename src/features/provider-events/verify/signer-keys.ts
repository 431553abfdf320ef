import { Injectable } from '@nestjs/common';
import type { ProviderSettings } from '../../../platform/config/settings/settings.js';
import { fetchKeys } from '../../../provider/adapters/oidc-client.js';
import { ProviderKeys } from '../../../provider/keys/provider-keys.js';
import { RemoteKeys, type Signer } from '../../../provider/keys/remote-keys.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { ProviderHttp } from '../../../provider/transport/provider-http.js';
import { discoverTransmitter, namesOf } from './transmitter.js';

/** The metadata of a transmitter lists no algorithms: all with a public key (RFC 8725 §3.1). */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');

/** Keeps the keys with which providers and their transmitters sign. */
@Injectable()
export class SignerKeys {
  private readonly keys = new Map<string, RemoteKeys>();
  private readonly critical = new Map<string, readonly string[]>();

  constructor(
    private readonly providers: ProviderRegistry,
    private readonly ofProviders: ProviderKeys,
    private readonly http: ProviderHttp,
  ) {}

  /**
   * Returns the keys of an OpenID provider, which it names with its issuer.
   * @param issuer of the token; those of `signals_issuer` are its own (docs/directory/okta.md)
   */
  ofProvider(name: string, issuer?: string): RemoteKeys {
    const { settings } = this.providers.get(name);
    const [own, other] = namesOf(settings);
    if (other === own || issuer !== other) return this.ofProviders.of(settings);
    return this.ofProviders.of({ ...settings, url: other, issuer: undefined });
  }

  ofTransmitter(name: string): RemoteKeys {
    const { settings } = this.providers.get(name);
    const keys = this.keys.get(name) ?? new RemoteKeys(() => this.fetchOfTransmitter(settings));
    this.keys.set(name, keys);
    return keys;
  }

  /** Returns `critical_subject_members` of a transmitter, after a fetch of its keys. */
  criticalMembers(name: string): readonly string[] {
    return this.critical.get(name) ?? [];
  }

  private async fetchOfTransmitter(provider: ProviderSettings): Promise<Signer> {
    const { issuer, jwksUri, criticalSubjectMembers } = await discoverTransmitter(this.http, provider);
    const metadata = { issuer, ...(jwksUri !== undefined && { jwks_uri: jwksUri }) };
    const keys = await fetchKeys(this.http, provider, metadata);
    this.critical.set(provider.name, criticalSubjectMembers);
    return { issuer, algorithms: ALGORITHMS, keys };
  }
}
