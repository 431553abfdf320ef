import { Injectable, Logger } from '@nestjs/common';
import type { SessionIds } from '../../platform/events.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { IdTokens } from '../../token/sessions/id-tokens.js';
import { UserStore } from '../../user/user.store.js';

/** Logout pages of providers (OpenID Connect RP-Initiated Logout 1.0). */
@Injectable()
export class ProviderLogouts {
  private readonly logger = new Logger(ProviderLogouts.name);

  constructor(
    private readonly providers: ProviderRegistry,
    private readonly idTokens: IdTokens,
    private readonly users: UserStore,
  ) {}

  /**
   * Reads what a logout page needs of a session, which is to end afterwards. The hint (§2) is the user's id
   * at the provider: an e-mail address may be old, and not every ID token is stored.
   * @returns asks the provider for the page; undefined if there is none, or the provider is disabled or away
   */
  async prepare(session: SessionIds, redirectUri: string): Promise<() => Promise<URL | undefined>> {
    const account = await this.users.find(session.userId);
    const idToken = await this.idTokens.find(session);
    return async () => {
      if (!account) return undefined;
      const { provider, providerUserId: hint } = account;
      try {
        return await this.providers.find(provider)?.logoutUrl({ redirectUri, hint, idToken });
      } catch (error) {
        // Latchkey's sessions have ended by now, so an error of the provider is no error of the request.
        this.logger.warn({ err: error, msg: `provider ${provider} did not return its logout page` });
        return undefined;
      }
    };
  }
}
