import { Injectable, Logger } from '@nestjs/common';
import type { Origin } from '../../../audit/audit-event.js';
import { ChannelHistory, type ChannelTransaction } from '../../../channel/channel.history.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { RateLimits } from '../../../platform/http/rate-limit.js';
import {
  forgetToken,
  hashIfNamed,
  hashOfName,
  RecentEnds,
  rememberToken,
} from '../../../token/sessions/recent-ends.js';
import type { Logout } from './logout-claims.js';
import { LogoutTokens } from './logout-tokens.js';
import { isOfUnknownKey } from './remote-keys.js';
import { TooManyUsers, type NamesAtProvider } from '../../../token/sessions/session.store.js';

const LONGER_S = 60; // seconds beyond the token's end, for differences between clocks

type Slice = Awaited<ReturnType<SignOutService['signOutAtProvider']>>;

/**
 * Ends sessions on a provider's request (OpenID Connect Back-Channel Logout 1.0;
 * docs/provider-sign-out.md#back-channel-logout).
 */
@Injectable()
export class BackchannelLogout {
  private readonly logger = new Logger(BackchannelLogout.name);

  constructor(
    private readonly tokens: LogoutTokens,
    private readonly ends: RecentEnds,
    private readonly history: ChannelHistory,
    private readonly signOuts: SignOutService,
    private readonly limits: RateLimits,
  ) {}

  /**
   * Ends the sessions that a logout token names. Bad tokens are counted, good ones never refused.
   * @throws OAuthError `invalid_request` for a bad or used token; `server_error` if the token can be sent
   *   again
   */
  async apply(provider: string, token: string, origin: Origin, address: string | undefined): Promise<void> {
    try {
      const by = { ...origin, actor: { type: 'provider', name: provider } } as const;
      await this.end(provider, await this.tokens.verify(provider, token), by);
    } catch (error) {
      const isBad = error instanceof OAuthError && error.error === 'invalid_request';
      if (isBad || isOfUnknownKey(error)) {
        await this.limits.count('bad_token', address);
      }
      throw error;
    }
  }

  private async end(provider: string, logout: Logout, origin: Origin): Promise<void> {
    const { subject, session } = logout;
    const names = {
      session: hashIfNamed(provider, session),
      subjects: subject === null ? [] : [hashOfName(provider, subject)],
    };
    const endSlices = async (endSlice: (within: ChannelTransaction) => Promise<Slice>): Promise<void> => {
      while (!(await this.history.transaction(endSlice)).isLast);
    };
    try {
      await endSlices((within) => this.endSlice(within, provider, logout, names, origin));
      // Sign-ins that were committed before they could see the logout. The token is used, so a failure is
      // only logged.
      await endSlices((within) => this.signOuts.signOutAtProvider(names, within, origin)).catch(
        (error: unknown) =>
          this.logger.warn({
            err: error,
            msg: 'sessions that began during a provider logout could not be ended',
          }),
      );
    } catch (error) {
      if (!(error instanceof TooManyUsers)) throw error;
      this.logger.warn(`a logout token of provider ${provider} was refused: ${error.message}`);
      throw new OAuthError('invalid_request', 'the logout token names too many users');
    }
  }

  /**
   * Ends one slice in a transaction. The `jti` is stored first, so that two requests with one token wait for
   * each other, and deleted if sessions are left: a token can be repeated after a failure.
   */
  private async endSlice(
    within: ChannelTransaction,
    provider: string,
    logout: Logout,
    names: NamesAtProvider,
    origin: Origin,
  ): Promise<Slice> {
    const { manager } = within;
    const tokenHash = hashOfName(provider, logout.jti);
    if (!(await rememberToken(manager, tokenHash, logout.until + LONGER_S))) {
      throw new OAuthError('invalid_request', 'the logout token was used before'); // §2.6
    }
    await this.ends.remember(manager, provider, { subject: logout.subject, session: logout.session });
    const slice = await this.signOuts.signOutAtProvider(names, within, origin);
    if (!slice.isLast) await forgetToken(manager, tokenHash);
    return slice;
  }
}
