import { Inject, Injectable } from '@nestjs/common';
import { SecretBox } from '../../platform/config/secrets/secret-key.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';

/** Encrypts refresh tokens of providers, with a separate key; the owner is the user. */
@Injectable()
export class ProviderTokens {
  private readonly box: SecretBox;

  constructor(@Inject(SETTINGS) { secretKey }: Pick<Settings, 'secretKey'>) {
    this.box = new SecretBox(secretKey, 'provider-refresh-tokens');
  }

  encrypt(refreshToken: string, userId: string): Buffer {
    return this.box.encrypt(Buffer.from(refreshToken), userId);
  }

  /** @returns undefined if it was encrypted with another SECRET_KEY, or for another user */
  decrypt(sealed: Buffer, userId: string): string | undefined {
    try {
      return this.box.decrypt(sealed, userId).toString();
    } catch {
      return undefined;
    }
  }
}
