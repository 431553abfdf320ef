import { Injectable, Logger } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { User } from '../../user/user.entity.js';

/** Where people end their session with the provider itself (OpenID Connect RP-Initiated Logout 1.0; contract §4). */
@Injectable()
export class ProviderLogout {
  private readonly logger = new Logger(ProviderLogout.name);

  constructor(
    private readonly providers: ProviderRegistry,
    @InjectRepository(User) private readonly users: Repository<User>,
  ) {}

  /** Asked before the sign-out, so that nothing has ended if the database is away. */
  accountOf(userId: string): Promise<User | null> {
    return this.users.findOneBy({ userId });
  }

  /**
   * The hint is what the provider itself calls the user. What it makes of one is its own affair (§2), and it must ask the
   * user without an ID token, which we do not keep. An e-mail address would be in its logs, and may be an old one.
   * @returns undefined where the provider has no such page, is not enabled any more, or is away. Never rejects.
   */
  async urlFor({ provider, providerUserId }: User, redirectUri: string): Promise<URL | undefined> {
    try {
      return await this.providers.find(provider)?.logoutUrl({ redirectUri, hint: providerUserId });
    } catch (error) {
      this.logger.warn({ err: error, msg: `provider ${provider} did not tell where its sessions end` });
      return undefined;
    }
  }
}
