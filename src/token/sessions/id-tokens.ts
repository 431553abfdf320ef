import { Inject, Injectable, Logger } from '@nestjs/common';
import { SecretBox } from '../../config/secrets/secret-key.js';
import { SETTINGS, type Settings } from '../../config/settings/settings.js';
import { Sql } from '../../database/sql.js';
import type { SessionIds } from '../../events.js';

const FIND = {
  name: 'id-token-find',
  text: `SELECT id_token AS "idToken" FROM refresh_tokens WHERE user_id = $1 AND session_id = $2`,
};

/**
 * ID tokens that are kept for `id_token_hint` (docs/providers.md#signing-out-at-the-provider), encrypted;
 * they end with the session.
 */
@Injectable()
export class IdTokens {
  private readonly logger = new Logger(IdTokens.name);
  private readonly box: SecretBox;

  constructor(
    @Inject(SETTINGS) { secretKey }: Pick<Settings, 'secretKey'>,
    private readonly sql: Sql,
  ) {
    this.box = new SecretBox(secretKey, 'id-tokens');
  }

  /** @param owner id of the session, or of the row that holds the token until there is a session */
  encrypt(idToken: string | null, owner: string): Buffer | null {
    return idToken === null ? null : this.box.encrypt(Buffer.from(idToken), owner);
  }

  /** @returns null if there is no token, or if it was encrypted with another SECRET_KEY: a sign-out works without it */
  decrypt(sealed: Buffer | null, owner: string): string | null {
    if (sealed === null) return null;
    try {
      return this.box.decrypt(sealed, owner).toString();
    } catch {
      this.logger.debug('a kept ID token was encrypted with another SECRET_KEY, and is left out');
      return null;
    }
  }

  async find({ userId, sessionId }: SessionIds): Promise<string | null> {
    const [row] = await this.sql.query<{ idToken: Buffer | null }>(FIND, [userId, sessionId]);
    return this.decrypt(row?.idToken ?? null, sessionId);
  }
}
