import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { Clock } from '../../../platform/database/clock.js';
import { namesOf } from '../transmitter/transmitter.js';
import { BadToken, RemoteKeys, type Signer } from '../logout/remote-keys.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { ProviderHttp } from '../../../provider/transport/provider-http.js';
import { discoverTransmitter, fetchTransmitterKeys } from '../transmitter/transmitter.js';
import { AHEAD_S, readSet, type SecurityEvents } from './set-claims.js';
import { SetError, type SetErrorCode } from './set-error.js';

/** The metadata of a transmitter lists no algorithms: all with a public key (RFC 8725 §3.1). */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');

/** By what of a token is wrong. */
const CODES: Readonly<Record<string, SetErrorCode>> = {
  signature: 'authentication_failed',
  key: 'invalid_key',
  iss: 'invalid_issuer',
  aud: 'invalid_audience',
};

/** Validates Security Event Tokens, and keeps the keys of the transmitters. */
@Injectable()
export class SetTokens {
  private readonly keys = new Map<string, RemoteKeys>();
  /** `critical_subject_members` of the transmitters. */
  private readonly critical = new Map<string, readonly string[]>();

  constructor(
    private readonly providers: ProviderRegistry,
    private readonly http: ProviderHttp,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Validates a token, except that it may have been used before.
   * @throws SetError for a bad token; OAuthError `server_error` (503) without the transmitter's keys
   */
  async verify(provider: string, token: string): Promise<SecurityEvents & { readonly issuer: string }> {
    const { settings } = this.providers.get(provider);
    const now = this.clock.now() / 1000;
    const audience = [this.settings.publicUrl, ...[settings.signals?.audience ?? []].flat()];
    const options = { audience, currentDate: new Date(now * 1000), clockTolerance: AHEAD_S };
    try {
      return await this.keysOf(provider).verify(token, options, ({ payload, protectedHeader }, issuer) => {
        if (!isSecurityEvent(protectedHeader.typ)) throw new Error('typ is that of another type of token');
        // After the fetch of the keys, and so of the metadata.
        const names = { issuers: namesOf(settings), critical: this.critical.get(provider) ?? [] };
        return { ...readSet(payload, names, now), issuer };
      });
    } catch (error) {
      if (!(error instanceof BadToken)) throw error;
      const { message, about = '' } = error;
      throw new SetError(CODES[about] ?? 'invalid_request', describe(about), new Error(message));
    }
  }

  /** Returns the keys of the provider's transmitter. */
  keysOf(provider: string): RemoteKeys {
    const keys = this.keys.get(provider) ?? new RemoteKeys(() => this.fetch(provider));
    this.keys.set(provider, keys);
    return keys;
  }

  private async fetch(provider: string): Promise<Signer> {
    const { settings } = this.providers.get(provider);
    const transmitter = await discoverTransmitter(this.http, settings);
    const keys = await fetchTransmitterKeys(this.http, settings, transmitter);
    this.critical.set(provider, transmitter.criticalSubjectMembers);
    return { issuer: transmitter.issuer, algorithms: ALGORITHMS, keys };
  }
}

function describe(about: string): string {
  if (about === 'aud') return 'aud is neither the address of this service nor signals_audience';
  if (about === 'iss') return 'iss is not the issuer of the transmitter';
  return 'the token is not a valid security event token of the transmitter';
}

/** RFC 8417 §2.3; `application/` is optional (RFC 7515 §4.1.9). */
function isSecurityEvent(typ: unknown): boolean {
  return typeof typ === 'string' && /^(?:application\/)?secevent\+jwt$/i.test(typ);
}
