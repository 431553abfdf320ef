import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../config/settings/settings.js';
import { Clock } from '../../database/clock.js';
import { isName } from '../../provider/identity/identity.js';
import { LogoutTokens } from '../../provider/logout/logout-tokens.js';
import { BadToken } from '../../provider/logout/remote-keys.js';
import { invalidToken } from '../../token/access-tokens/access-token.verifier.js';

/** Validated token of a request to revoke (draft-parecki-oauth-global-token-revocation). */
export interface RevocationToken {
  readonly jti: string;
  /** Seconds since the epoch: from then on the token is rejected. */
  readonly until: number;
}

const AHEAD_S = 60;
const LONGEST_S = 600;

/** Validates the tokens of requests to revoke, with the keys of the provider. */
@Injectable()
export class RevocationTokens {
  constructor(
    private readonly keys: LogoutTokens,
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
      return await this.keys
        .keysOf(provider)
        .verify(token, options, ({ payload, protectedHeader: { typ } }) => {
          const { jti, iat, exp } = payload;
          if (!/^(?:application\/)?global-token-revocation\+jwt$/i.test(typ ?? ''))
            throw new Error('typ is another');
          if (iat === undefined || exp === undefined) throw new Error('iat or exp is missing');
          if (iat > now + AHEAD_S || exp > iat + LONGEST_S) throw new Error('it is valid for too long');
          if (!isName(jti)) throw new Error('jti is missing or unusable');
          return { jti, until: exp };
        });
    } catch (error) {
      throw error instanceof BadToken ? refused(error) : error;
    }
  }
}

export function refused(cause?: Error) {
  return Object.assign(invalidToken('the token is not valid here'), cause && { cause });
}
