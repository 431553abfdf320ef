import { Injectable, Logger } from '@nestjs/common';
import { ChannelHistory, type ChannelTransaction } from '../../channel/channel.history.js';
import { SignOutService } from '../../device/sign-out.service.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { Events } from '../../events.js';
import { RateLimits } from '../../http/rate-limit.js';
import { hashIfNamed, hashOfName } from '../../provider/logout/logged-out.js';
import { LoggedOut } from '../../provider/logout/logged-out.js';
import type { Logout } from '../../provider/logout/logout-claims.js';
import { forgetLogout, rememberLogout } from '../../provider/logout/logged-out.js';
import { LogoutTokens } from '../../provider/logout/logout-tokens.js';
import { TooManyUsers, type NamesAtProvider } from '../../token/sessions/provider-sessions.store.js';

type Slice = Awaited<ReturnType<SignOutService['signOutAtProvider']>>;

/** Users and sessions of a logout so far. */
class Ended {
  readonly userIds = new Set<string>();
  sessions = 0;
}

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
   * Ends the sessions that a logout token names. Bad tokens are counted, good ones never refused (contract §2).
   *
   * @param provider with the adapter `oidc`
   * @param address of the sender
   * @throws OAuthError `invalid_request` for a bad or used token; `server_error` with Retry-After if the token can be sent
   *   again
   */
  async obey(provider: string, token: string, address: string | undefined): Promise<void> {
    try {
      await this.end(provider, await this.tokens.verify(provider, token));
    } catch (error) {
      if (error instanceof OAuthError && error.error === 'invalid_request') {
        await this.limits.count('bad_token', address);
      }
      throw error;
    }
  }

  private async end(provider: string, logout: Logout): Promise<void> {
    const { subject, session } = logout;
    const names = {
      session: hashIfNamed(provider, session),
      subjects: subject === null ? [] : [hashOfName(provider, subject)],
    };
    const ended = new Ended();
    let isObeyed = false;
    try {
      await this.inSlices(ended, (transaction) => this.endSlice(transaction, provider, logout, names));
      isObeyed = true;
      await this.endLate(ended, names);
    } catch (error) {
      if (!(error instanceof TooManyUsers)) throw error;
      this.logger.warn(`a logout token of provider ${provider} was refused: ${error.message}`);
      throw new OAuthError('invalid_request', 'the logout token names too many users');
    } finally {
      // Slices that have ended are reported even if the next one fails.
      if (isObeyed || ended.sessions > 0) {
        const { userIds, sessions } = ended;
        this.events.emit('provider_logout.obeyed', { provider, userIds: [...userIds], sessions });
      }
    }
  }

  /**
   * Stores the `jti` in the transaction of the last slice (contract §6), so that a token can be repeated after a failure. Each
   * slice stores the `jti` first and deletes it if sessions are left: two requests with one token wait for each other here.
   */
  private async endSlice(
    transaction: ChannelTransaction,
    provider: string,
    logout: Logout,
    names: NamesAtProvider,
  ): Promise<Slice> {
    const { manager } = transaction;
    if (!(await rememberLogout(manager, provider, logout))) {
      throw new OAuthError('invalid_request', 'the logout token was used before'); // §2.6
    }
    await this.loggedOut.remember(manager, provider, logout);
    const slice = await this.signOuts.signOutAtProvider(names, transaction);
    if (!slice.isLast) await forgetLogout(manager, provider, logout);
    return slice;
  }

  /** Ends sessions of sign-ins that were committed since, before they could see the logout. A failure here is only logged. */
  private async endLate(ended: Ended, names: NamesAtProvider): Promise<void> {
    try {
      await this.inSlices(ended, (transaction) => this.signOuts.signOutAtProvider(names, transaction));
    } catch (error) {
      this.logger.warn({
        err: error,
        msg: 'sign-ins during a logout by the provider could not be looked for',
      });
    }
  }

  /** Ends slices, one in a transaction, until no session is left. */
  private async inSlices(
    ended: Ended,
    endSlice: (transaction: ChannelTransaction) => Promise<Slice>,
  ): Promise<void> {
    for (let isLast = false; !isLast;) {
      const slice = await this.history.transaction(endSlice);
      for (const userId of slice.userIds) ended.userIds.add(userId);
      ended.sessions += slice.sessions;
      ({ isLast } = slice);
    }
  }
}
