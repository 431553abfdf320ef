import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { findAccount, type Account } from '../../user/user.store.js';

/** Logout page of a provider (OpenID Connect RP-Initiated Logout 1.0; contract §4). */
@Injectable()
export class ProviderLogout {
  private readonly logger = new Logger(ProviderLogout.name);

  constructor(
    private readonly providers: ProviderRegistry,
    private readonly dataSource: DataSource,
  ) {}

  /** Read before the sign-out, so that nothing has ended if the database is away. */
  accountOf(userId: string): Promise<Account | null> {
    return findAccount(this.dataSource.manager, userId);
  }

  /**
   * The hint is the user's id at the provider (§2): an e-mail address may be old. ID tokens are not kept.
   * @returns undefined if the provider has no such page, is disabled or is away. Never rejects.
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
