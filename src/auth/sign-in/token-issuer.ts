import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Origin } from '../../audit/audit-event.js';
import { SETTINGS, type Settings } from '../../config/settings/settings.js';
import { DatabaseBusy } from '../../database/limits.js';
import { SignOutService } from '../../device/sign-out.service.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { cleanUserAgent } from '../../http/user-agent.js';
import type { Identity } from '../../provider/identity/identity.js';
import { hashIfNamed, LoggedOut } from '../../provider/logout/logged-out.js';
import { AccessTokens, type IssuedAccessToken } from '../../token/access-tokens/access-token.js';
import type { DpopProof } from '../../token/dpop/dpop-proof.js';
import {
  hashRefreshToken,
  makeRefreshToken,
  type Authentication,
} from '../../token/refresh/refresh-token.js';
import { ClaimsStore } from '../../user/claims.store.js';
import { IdTokens } from '../../token/sessions/id-tokens.js';
import { userIdOf } from '../../user/user-keys.js';
import type { Attempt } from './sign-in-refusals.js';
import { SignInStore, type SignIn } from './sign-in.store.js';
import type { DeviceDto, IssuedTokens } from '../token.dto.js';

export interface Verified {
  readonly provider: string;
  readonly identity: Identity;
  /** Time of the request to the provider: milliseconds, by the database's clock. */
  readonly asked: number;
}

/** Request, besides its parameters. */
export interface Call {
  /** Validated; the session is bound to its key. */
  readonly proof: DpopProof | undefined;
  readonly origin: Origin;
  /** For its refusal: receives who signs in. */
  readonly attempt: Attempt;
}

/** Attempts to write a sign-in, while other instances change the claims of the user. */
const TRIES = 5;

/** Last step of each sign-in: writes user, device and session, and issues the tokens. */
@Injectable()
export class TokenIssuer {
  constructor(
    private readonly accessTokens: AccessTokens,
    private readonly signIns: SignInStore,
    private readonly idTokens: IdTokens,
    private readonly loggedOut: LoggedOut,
    private readonly signOuts: SignOutService,
    private readonly claims: ClaimsStore,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** @throws OAuthError `invalid_grant` if the provider has logged the user out since it was asked */
  async issue(
    { provider, identity, asked }: Verified,
    device: DeviceDto,
    { proof, origin, attempt }: Call,
  ): Promise<IssuedTokens> {
    const jkt = proof?.jkt ?? null;
    const session = {
      userId: userIdOf(provider, identity.providerUserId),
      sessionId: randomUUID(),
      deviceId: device.device_id?.toLowerCase() ?? null,
    };
    const { userId, deviceId } = session;
    Object.assign(attempt, { userId, deviceId, providerUserId: identity.providerUserId });
    const authentication = authenticationOf(identity);
    const refreshToken = makeRefreshToken(session, jkt !== null, authentication);
    const accessToken = await this.record(
      { authentication, proof },
      {
        session,
        provider,
        identity,
        deviceName: device.device_name ?? null,
        userAgent: cleanUserAgent(device.user_agent) ?? origin.userAgent,
        providerSubject: hashIfNamed(provider, identity.subject),
        providerSession: hashIfNamed(provider, identity.session),
        idToken: this.idTokens.encrypt(identity.idToken, session.sessionId),
        jkt,
        origin,
        refreshTokenHash: hashRefreshToken(refreshToken, jkt),
        refreshTokenTtl: this.settings.refreshTokenTtl,
      },
    );
    if (await this.loggedOut.since(asked, provider, identity)) {
      const byProvider = { ...origin, actor: { type: 'provider', name: provider } } as const;
      await this.signOuts.signOut('session', session, byProvider);
      throw new OAuthError('invalid_grant', 'the identity provider has ended the session meanwhile');
    }
    return {
      access_token: accessToken.token,
      token_type: 'Bearer',
      refresh_token: refreshToken,
      expires_in: accessToken.expiresIn,
      user_id: session.userId,
    };
  }

  /** Signs a token with the user's claims, and writes the sign-in; again, if the claims have changed since. */
  private async record(
    token: { readonly authentication: Authentication | undefined; readonly proof: DpopProof | undefined },
    signIn: Omit<SignIn, 'accessToken' | 'claims'>,
  ): Promise<IssuedAccessToken> {
    const { session, identity, provider } = signIn;
    for (let left = TRIES; left > 0; left--) {
      const claims = await this.claims.atSignIn(session.userId, provider, identity.claims, signIn.origin);
      const accessToken = this.accessTokens.issue(session, { ...token, claims: claims.effective });
      if (await this.signIns.record({ ...signIn, accessToken, claims })) return accessToken;
      await this.claims.find(session.userId); // for the next one
    }
    throw new DatabaseBusy('the claims of the user change too often');
  }
}

/** Returns the claims of the tokens (RFC 9068 §2.2.1), or undefined if the provider reports none, so that tokens stay short. */
function authenticationOf({ authTime, acr, amr }: Identity): Authentication | undefined {
  if (authTime === null && acr === null && amr === null) return undefined;
  return {
    ...(authTime !== null && { auth_time: Math.floor(authTime) }),
    ...(acr !== null && { acr }),
    ...(amr !== null && { amr }),
  };
}
