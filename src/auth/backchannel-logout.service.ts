import { Injectable, Logger } from '@nestjs/common';
import { ChannelHistory } from '../channel/channel.history.js';
import { SignOutService } from '../device/sign-out.service.js';
import { OAuthError } from '../errors/oauth-error.js';
import { Events } from '../events.js';
import { RateLimits } from '../http/rate-limit.js';
import { hashIfNamed, hashOfName } from '../provider/logout/hash-of-name.js';
import { LoggedOut } from '../provider/logout/logged-out.js';
import type { Logout } from '../provider/logout/logout-claims.js';
import { rememberLogout } from '../provider/logout/logout-token.store.js';
import { LogoutTokens } from '../provider/logout/logout-tokens.js';
import { TooManyUsers, type NamesAtProvider } from '../token/provider-sessions.store.js';

type Ended = Awaited<ReturnType<SignOutService['signOutAtProvider']>>;

/** Sessions that a provider ends (OpenID Connect Back-Channel Logout 1.0; contract §6). */
@Injectable()
export class BackchannelLogout {
  private readonly logger = new Logger(BackchannelLogout.name);

  constructor(
    private readonly tokens: LogoutTokens,
    private readonly loggedOut: LoggedOut,
    private readonly history: ChannelHistory,
    private readonly signOuts: SignOutService,
    private readonly limits: RateLimits,
    private readonly events: Events,
  ) {}

  /**
   * Ends the sessions that a logout token names. A bad token is counted, which never refuses a good one (contract §2).
   *
   * @param provider the name of one whose adapter is `oidc`
   * @param address that the token came from
   * @throws OAuthError `invalid_request` for a bad token, and for one that was obeyed before; `server_error`, with
   *   Retry-After, when it could not be judged or obeyed: then it can be sent again
   */
  async obey(provider: string, token: string, address: string | undefined): Promise<void> {
    try {
      const logout = await this.tokens.verify(provider, token);
      this.events.emit('provider_logout.obeyed', { provider, ...(await this.end(provider, logout)) });
    } catch (error) {
      if (error instanceof OAuthError && error.error === 'invalid_request') {
        await this.limits.count('bad_token', address);
      }
      throw error;
    }
  }

  /**
   * In one transaction with the memory of the token: if it fails, the token is as good as before. The commit writes in any
   * case, so a 200 that ended nothing is confirmed as well (see CONFIRM_READ).
   */
  private async end(provider: string, logout: Logout): Promise<Ended> {
    const { subject, session } = logout;
    const names = {
      session: hashIfNamed(provider, session),
      subjects: subject === null ? [] : [hashOfName(provider, subject)],
    };
    try {
      const ended = await this.history.transaction(async (transaction) => {
        if (!(await rememberLogout(transaction.manager, provider, logout))) {
          throw new OAuthError('invalid_request', 'the logout token was used before'); // §2.6
        }
        await this.loggedOut.remember(transaction.manager, provider, logout);
        return this.signOuts.signOutAtProvider(names, transaction);
      });
      const late = await this.endLate(names);
      return {
        userIds: [...new Set([...ended.userIds, ...late.userIds])],
        sessions: ended.sessions + late.sessions,
      };
    } catch (error) {
      if (!(error instanceof TooManyUsers)) throw error;
      this.logger.warn(`a logout token of provider ${provider} was refused: ${error.message}`);
      throw new OAuthError('invalid_request', 'the logout token names too many users');
    }
  }

  /**
   * Once more: a sign-in may have been committed since, before it could find what was remembered. All others have ended, so it
   * is no failure of the logout where the database goes away just now.
   */
  private async endLate(names: NamesAtProvider): Promise<Ended> {
    try {
      return await this.history.transaction((transaction) =>
        this.signOuts.signOutAtProvider(names, transaction),
      );
    } catch (error) {
      this.logger.warn({
        err: error,
        msg: 'sign-ins during a logout by the provider could not be looked for',
      });
      return { userIds: [], sessions: 0 };
    }
  }
}
