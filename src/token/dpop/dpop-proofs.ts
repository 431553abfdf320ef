import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '../../config/settings/settings.js';
import { SETTINGS } from '../../config/settings/settings.module.js';
import { Clock } from '../../database/clock.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { judgeProof, type DpopProof, type ProofFault } from './dpop-proof.js';
import { isLoopbackUrl, parseUrl } from '../../config/urls/urls.js';

/** What a call brings with it to prove that its client holds a key. */
export interface DpopCall {
  /** The `DPoP` header; undefined: there is none. */
  readonly header: string | undefined;
  readonly path: '/oauth2/token' | '/oauth2/refresh';
}

const DESCRIPTIONS: Readonly<Record<ProofFault, string>> = {
  malformed: 'the DPoP header is not one proof with ES256 and a public P-256 key',
  forged: 'the DPoP proof is not signed by the key in it',
  call: 'the DPoP proof is for another method or address',
  time: 'the DPoP proof was not made within the last minute, by the clock of the Date header',
};

/** Proofs of possession (RFC 9449), judged for the calls of this service by the clock of its database. */
@Injectable()
export class DpopProofs {
  private readonly isHtu: Readonly<Record<DpopCall['path'], (address: string) => boolean>>;

  constructor(
    private readonly clock: Clock,
    @Inject(SETTINGS) { publicUrl, production }: Settings,
  ) {
    const endpoint = (path: DpopCall['path']) => sameEndpoint(publicUrl + path, { loopback: !production });
    this.isHtu = {
      '/oauth2/token': endpoint('/oauth2/token'),
      '/oauth2/refresh': endpoint('/oauth2/refresh'),
    };
  }

  /**
   * Verifies the proof of a call.
   * @returns undefined if the call has no `DPoP` header
   * @throws OAuthError `invalid_dpop_proof`
   */
  async judge({ header, path }: DpopCall): Promise<DpopProof | undefined> {
    if (header === undefined) return undefined;
    const judged = await judgeProof(header, { isHtu: this.isHtu[path], now: this.clock.now() });
    if (typeof judged === 'string') throw new OAuthError('invalid_dpop_proof', DESCRIPTIONS[judged]);
    return judged;
  }
}

/**
 * A comparison with an address of ours, without query and fragment (RFC 9449 §4.3, 9), both normalized as URLs are.
 *
 * @param own absolute and normalized
 * @param loopback whether all names of the loopback interface are the same
 */
export function sameEndpoint(own: string, { loopback }: { loopback: boolean }): (address: string) => boolean {
  const ours = new URL(own);
  const isHere = loopback && isLoopbackUrl(own);
  return (address) => {
    if (address === own) return true; // as almost everybody writes it
    const url = parseUrl(address);
    if (!url) return false;
    const { protocol, hostname, port, pathname, username, password } = url;
    const sameHost = hostname === ours.hostname || (isHere && isLoopbackUrl(address));
    const same = protocol === ours.protocol && port === ours.port && pathname === ours.pathname;
    return same && sameHost && username === '' && password === '';
  };
}
