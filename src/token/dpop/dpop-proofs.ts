import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { Clock } from '../../platform/database/clock.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { validateProof, type DpopProof, type ProofError } from './dpop-proof.js';
import { isLoopbackUrl, parseUrl } from '../../platform/config/urls/urls.js';

export interface DpopCall {
  /** `DPoP` header. */
  readonly header: string | undefined;
  readonly path: `/${string}`;
}

const DESCRIPTIONS: Readonly<Record<ProofError, string>> = {
  malformed: 'the DPoP header is not one proof with ES256 and a public P-256 key',
  forged: 'the DPoP proof is not signed by the key in it',
  call: 'the DPoP proof is for another method or address',
  time: 'the DPoP proof was not made within the last minute, by the clock of the Date header',
};

/** Validates proofs of possession (RFC 9449) for the endpoints of this service, by the database's clock. */
@Injectable()
export class DpopProofs {
  constructor(
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Validates the proof of a sign-in, before its state or code is consumed.
   * @returns undefined if there is none
   * @throws OAuthError `invalid_dpop_proof`, also without a proof if `BINDING` requires one
   */
  async validateAtSignIn(call: DpopCall): Promise<DpopProof | undefined> {
    const proof = await this.validate(call);
    if (proof || this.settings.binding !== 'required') return proof;
    throw new OAuthError('invalid_dpop_proof', 'sign-ins need a DPoP proof (RFC 9449)');
  }

  /**
   * @returns undefined if the request has no `DPoP` header
   * @throws OAuthError `invalid_dpop_proof`
   */
  async validate({ header, path }: DpopCall): Promise<DpopProof | undefined> {
    if (header === undefined) return undefined;
    const { publicUrl, production } = this.settings;
    const isHtu = sameEndpoint(publicUrl + path, { loopback: !production });
    const result = await validateProof(header, { isHtu, now: this.clock.now() });
    if (typeof result === 'string') throw new OAuthError('invalid_dpop_proof', DESCRIPTIONS[result]);
    return result;
  }
}

/**
 * Returns a comparison with an address of ours, without query and fragment and normalized (RFC 9449 §4.3, 9).
 * @param own absolute and normalized
 * @param loopback whether all names of the loopback interface are equal
 */
export function sameEndpoint(own: string, { loopback }: { loopback: boolean }): (address: string) => boolean {
  return (address) => {
    if (address === own) return true;
    const ours = new URL(own);
    const url = parseUrl(address);
    if (!url) return false;
    const { protocol, hostname, port, pathname, username, password } = url;
    const sameHost = hostname === ours.hostname || (loopback && isLoopbackUrl(own) && isLoopbackUrl(address));
    const same = protocol === ours.protocol && port === ours.port && pathname === ours.pathname;
    return same && sameHost && username === '' && password === '';
  };
}
