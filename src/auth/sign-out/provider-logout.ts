import { Injectable, Logger } from '@nestjs/common';
import { Sql } from '../../database/statements/sql.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { findAccount, type Account } from '../../user/user.store.js';

/** Where people end their session with the provider itself (OpenID Connect RP-Initiated Logout 1.0; contract §4). */
@Injectable()
export class ProviderLogout {
  private readonly logger = new Logger(ProviderLogout.name);

  constructor(
    private readonly providers: ProviderRegistry,
    private readonly sql: Sql,
  ) {}

  /** Asked before the sign-out, so that nothing has ended if the database is away. */
  accountOf(userId: string): Promise<Account | undefined> {
    return findAccount(this.sql, userId);
  }

  /**
   * The hint is what the provider itself calls the user. What it makes of one is its own affair (§2), and it must ask the
   * user without an ID token, which we do not keep. An e-mail address would be in its logs, and may be an old one.
   * @returns undefined where the provider has no such page, is not enabled any more, or is away. Never rejects.
   */
  async urlFor({ provider, providerUserId }: Account, redirectUri: string): Promise<URL | undefined> {
    try {
      return await this.providers.find(provider)?.logoutUrl({ redirectUri, hint: providerUserId });
    } catch (error) {
      this.logger.warn({ err: error, msg: `provider ${provider} did not tell where its sessions end` });
      return undefined;
    }
  }
}
