import { Injectable, Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Origin } from '../../../audit/audit-event.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { RateLimits } from '../../../platform/http/rate-limit.js';
import { hashIfNamed, hashOfName } from '../../../token/sessions/recent-ends.js';
import { TooManyUsers, usersAtProvider } from '../../../token/sessions/session.store.js';
import { ProviderTokens } from '../verify/provider-tokens.js';
import { countBadToken } from '../../../provider/keys/remote-keys.js';
import { ProviderEnds } from './provider-ends.js';

const OPTIONS = { cause: 'provider_ended', until: null } as const;

/**
 * Ends sessions on a provider's request (OpenID Connect Back-Channel Logout 1.0;
 * docs/provider-sign-out.md#back-channel-logout).
 */
@Injectable()
export class BackchannelLogout {
  private readonly logger = new Logger(BackchannelLogout.name);

  constructor(
    private readonly tokens: ProviderTokens,
    private readonly ends: ProviderEnds,
    private readonly limits: RateLimits,
  ) {}

  /**
   * Ends the sessions that a logout token names.
   * @throws OAuthError `invalid_request` for a bad or used token; `server_error` if the token can be sent
   *   again
   */
  async apply(provider: string, token: string, origin: Origin, address: string | undefined): Promise<void> {
    const by = { ...origin, actor: { type: 'provider', name: provider } } as const;
    await this.end(provider, token, by).catch(countBadToken(this.limits, 'invalid_request', address));
  }

  private async end(provider: string, token: string, origin: Origin): Promise<void> {
    const { jti, until, subject, session } = await this.tokens.verifyLogout(provider, token);
    const sessionHash = hashIfNamed(provider, session);
    const subjects = subject === null ? [] : [hashOfName(provider, subject)];
    const find = async (manager: EntityManager) => ({
      ...(await usersAtProvider(manager, sessionHash, subjects)),
      subject,
      session,
    });
    try {
      const isNew = await this.ends.applyOnce(hashOfName(provider, jti), until, async (within) => {
        const named = await find(within.manager);
        return (await this.ends.endSlice(within, provider, named, origin, OPTIONS)).isLast;
      });
      if (!isNew) throw new OAuthError('invalid_request', 'the logout token was used before'); // §2.6
    } catch (error) {
      if (!(error instanceof TooManyUsers)) throw error;
      this.logger.warn(`a logout token of provider ${provider} was refused: ${error.message}`);
      throw new OAuthError('invalid_request', 'the logout token names too many users');
    }
    await this.ends.endLate(find, origin, OPTIONS);
  }
}
