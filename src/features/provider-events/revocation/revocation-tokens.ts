import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { Clock } from '../../../platform/database/clock.js';
import { namesOf } from '../transmitter/transmitter.js';
import { isName } from '../../../provider/identity/identity.js';
import { LogoutTokens } from '../logout/logout-tokens.js';
import { BadToken, issuerIn } from '../logout/remote-keys.js';
import { ProviderRegistry } from '../../../provider/provider.registry.js';
import { invalidToken } from '../../../token/access-tokens/access-token.verifier.js';
import { SetTokens } from '../receiver/set-tokens.js';

/** Validated token of a request to revoke (draft-parecki-oauth-global-token-revocation). */
export interface RevocationToken {
  readonly issuer: string;
  readonly jti: string;
  /** Seconds since the epoch: from then on the token is rejected. */
  readonly until: number;
}

const AHEAD_S = 60;
const LONGEST_S = 600;

/** Validates the tokens of requests to revoke, with the keys of the provider or of `signals_issuer`. */
@Injectable()
export class RevocationTokens {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly keys: LogoutTokens,
    private readonly transmitters: SetTokens,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Validates the token of a header, except that it may have been used before.
   * @throws OAuthError `invalid_token`; `server_error` (503) without the provider's keys
   */
  async verify(provider: string, authorization: string | undefined): Promise<RevocationToken> {
    if (authorization === undefined) throw invalidToken('a token of the provider is needed', 'Bearer');
    const token = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization)?.[1];
    if (token === undefined) throw refused();
    const audience = `${this.settings.publicUrl}/providers/${provider}/global-token-revocation`;
    const now = this.clock.now() / 1000;
    const options = { audience, currentDate: new Date(now * 1000) };
    try {
      const keys = this.isOfTransmitter(provider, token) ? this.transmitters : this.keys;
      return await keys.keysOf(provider).verify(token, options, (verified, issuer) => {
        const { payload, protectedHeader } = verified;
        const { jti, iat, exp } = payload;
        if (!/^(?:application\/)?global-token-revocation\+jwt$/i.test(protectedHeader.typ ?? ''))
          throw new Error('typ is another');
        if (iat === undefined || exp === undefined) throw new Error('iat or exp is missing');
        if (iat > now + AHEAD_S || exp > iat + LONGEST_S) throw new Error('it is valid for too long');
        if (!isName(jti)) throw new Error('jti is missing or unusable');
        return { issuer, jti, until: exp };
      });
    } catch (error) {
      throw error instanceof BadToken ? refused(error) : error;
    }
  }

  /** Whether a token says that it is of `signals_issuer`, if that is another one than the provider's. */
  private isOfTransmitter(provider: string, token: string): boolean {
    const [own, transmitter] = namesOf(this.providers.get(provider).settings);
    return transmitter !== own && issuerIn(token) === transmitter;
  }
}

export function refused(cause?: Error) {
  return Object.assign(invalidToken('the token is not valid here'), cause && { cause });
}
