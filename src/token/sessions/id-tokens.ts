import { Inject, Injectable, Logger } from '@nestjs/common';
import { SecretBox } from '../../platform/config/secrets/secret-key.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';

/**
 * ID tokens that are kept for `id_token_hint` (docs/provider-sign-out.md#from-your-application), encrypted;
 * they end with the session.
 */
@Injectable()
export class IdTokens {
  private readonly logger = new Logger(IdTokens.name);
  private readonly box: SecretBox;

  constructor(@Inject(SETTINGS) { secretKey }: Pick<Settings, 'secretKey'>) {
    this.box = new SecretBox(secretKey, 'id-tokens');
  }

  /** @param owner id of the session, or of the row that holds the token until there is a session */
  encrypt(idToken: string | null, owner: string): Buffer | null {
    return idToken === null ? null : this.box.encrypt(Buffer.from(idToken), owner);
  }

  /**
   * @returns null if there is no token, or if it was encrypted with another SECRET_KEY: a sign-out works
   *   without it
   */
  decrypt(sealed: Buffer | null, owner: string): string | null {
    if (sealed === null) return null;
    try {
      return this.box.decrypt(sealed, owner).toString();
    } catch {
      this.logger.debug('a kept ID token was encrypted with another SECRET_KEY, and is left out');
      return null;
    }
  }
}
