import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '../config/settings.js';
import { SETTINGS } from '../config/settings.module.js';
import { Clock } from '../database/clock.js';
import { SignOutService } from '../device/sign-out.service.js';
import { OAuthError } from '../errors/oauth-error.js';
import { Events, type Session } from '../events.js';
import type { Identity } from '../provider/identity.js';
import { hashIfNamed } from '../provider/logout/hash-of-name.js';
import { LoggedOut } from '../provider/logout/logged-out.js';
import { ProviderRegistry } from '../provider/provider.registry.js';
import { allowsRedirectUri, defaultRedirectUri } from '../provider/redirect-uris.js';
import { AccessTokens } from '../token/access-token.js';
import type { DpopProof } from '../token/dpop-proof.js';
import { DpopProofs, type DpopCall } from '../token/dpop-proofs.js';
import { hashRefreshToken, makeRefreshToken } from '../token/refresh-token.js';
import { userIdOf } from '../user/user-id.js';
import type { AuthorizeDto } from './authorize.dto.js';
import { isOwnEndpoint } from './own-endpoint.js';
import { verifierMatches } from './pkce.js';
import { SignInStore } from './sign-in.store.js';
import { StateService, type PendingSignIn } from './state.service.js';
import type { TokenDto } from './token.dto.js';

export interface Authorization {
  redirect_url: string;
  state: string;
  /** PUBLIC_URL: clients make the address in their proofs from it (contract §5). */
  issuer: string;
}

export interface IssuedTokens {
  access_token: string;
  token_type: 'Bearer';
  refresh_token: string;
  /** Seconds. */
  expires_in: number;
  user_id: string;
}

/** The authorization code flow, seen from the application (spec §1). */
@Injectable()
export class AuthService {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly states: StateService,
    private readonly accessTokens: AccessTokens,
    private readonly proofs: DpopProofs,
    private readonly signIns: SignInStore,
    private readonly loggedOut: LoggedOut,
    private readonly signOuts: SignOutService,
    private readonly clock: Clock,
    private readonly events: Events,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Begins a sign-in: where to send the user, and the state that will come back (spec §4.2). */
  async authorize(params: AuthorizeDto): Promise<Authorization> {
    const provider = this.providers.get(params.provider);
    const redirectUri = params.redirect_uri ?? defaultRedirectUri(this.settings, provider.settings);
    if (!allowsRedirectUri(this.settings, provider.settings, redirectUri)) {
      throw new OAuthError('invalid_request', 'redirect_uri is not on the allow-list');
    }
    if (isOwnEndpoint(this.settings, redirectUri)) {
      throw new OAuthError('invalid_request', 'redirect_uri is an endpoint of this service');
    }
    if ((params.code_challenge === undefined) !== (params.code_challenge_method === undefined)) {
      throw new OAuthError(
        'invalid_request',
        'code_challenge needs code_challenge_method=S256, and the reverse',
      );
    }
    const state = this.states.make();
    const { url, memory } = await provider.authorizationUrl({ state, redirectUri });
    await this.states.save(state, {
      provider: params.provider,
      redirectUri,
      redirectUriNamed: params.redirect_uri !== undefined,
      codeChallenge: params.code_challenge ?? null,
      memory: memory ?? null,
    });
    return { redirect_url: url.href, state, issuer: this.settings.publicUrl };
  }

  /**
   * Finishes a sign-in: exchanges the provider's code for our own tokens (spec §4.3).
   * @param call with which they came: a proof in it binds the session to its key (contract §5)
   */
  async exchange(params: TokenDto, call: DpopCall, userAgentHeader?: string): Promise<IssuedTokens> {
    try {
      return await this.finish(params, call, userAgentHeader);
    } catch (error) {
      this.events.emit('sign_in.refused', {
        error: error instanceof OAuthError ? error.error : 'server_error',
      });
      throw error;
    }
  }

  private async finish(params: TokenDto, call: DpopCall, userAgentHeader?: string): Promise<IssuedTokens> {
    const proof = await this.proofs.forSignIn(call); // a bad one spends no state (contract §5)
    const signIn = await this.states.consume(params.state);
    checkRedirectUri(signIn, params.redirect_uri);
    checkCodeVerifier(signIn, params.code_verifier);
    const asked = this.clock.now();
    const identity = await this.askProvider(signIn, params);
    const { session, tokens } = await this.issueTokens(
      signIn.provider,
      identity,
      params,
      proof,
      userAgentHeader,
    );
    if (await this.loggedOut.since(asked, signIn.provider, identity)) {
      await this.signOuts.signOut('session', session);
      throw new OAuthError('invalid_grant', 'the identity provider has ended the session meanwhile');
    }
    return tokens;
  }

  private askProvider(signIn: PendingSignIn, { code, state, iss }: TokenDto): Promise<Identity> {
    return this.providers.get(signIn.provider).exchange({
      code,
      state,
      redirectUri: signIn.redirectUri,
      ...(iss !== undefined && { iss }),
      ...(signIn.memory !== null && { memory: signIn.memory }),
    });
  }

  private async issueTokens(
    provider: string,
    identity: Identity,
    params: TokenDto,
    proof: DpopProof | undefined,
    userAgentHeader?: string,
  ): Promise<{ readonly session: Session; readonly tokens: IssuedTokens }> {
    const jkt = proof?.jkt ?? null;
    const session = {
      userId: userIdOf(provider, identity.providerUserId),
      sessionId: randomUUID(),
      deviceId: params.device_id?.toLowerCase() ?? null,
    };
    const accessToken = this.accessTokens.issue(session, proof);
    const refreshToken = makeRefreshToken(session, jkt !== null);
    await this.signIns.record({
      session,
      provider,
      identity,
      deviceName: params.device_name ?? null,
      userAgent: params.user_agent ?? fromHeader(userAgentHeader),
      providerSubject: hashIfNamed(provider, identity.subject),
      providerSession: hashIfNamed(provider, identity.session),
      jkt,
      refreshTokenHash: hashRefreshToken(refreshToken, jkt),
      refreshTokenTtl: this.settings.refreshTokenTtl,
      accessToken,
    });
    const tokens: IssuedTokens = {
      access_token: accessToken.token,
      token_type: 'Bearer',
      refresh_token: refreshToken,
      expires_in: accessToken.expiresIn,
      user_id: session.userId,
    };
    return { session, tokens };
  }
}

const LONGEST_USER_AGENT = 1024;

/** A header that is too long is cut, never refused (contract §3). Node allows neither NUL nor surrogates in it. */
function fromHeader(userAgent?: string): string | null {
  return userAgent?.slice(0, LONGEST_USER_AGENT) || null;
}

// Compared only if the authorization request named one (contract §4) and this request gives one: a client that posts only
// code and state (spec §1, step 4) is served. The provider gets the stored one either way.
function checkRedirectUri({ redirectUriNamed, redirectUri }: PendingSignIn, given?: string): void {
  if (redirectUriNamed && given !== undefined && given !== redirectUri) {
    throw new OAuthError('invalid_grant', 'redirect_uri differs from the one of the authorization request');
  }
}

// A verifier without a challenge is refused as well: somebody may have taken the challenge out (RFC 9700 §4.8.2).
function checkCodeVerifier({ codeChallenge }: PendingSignIn, codeVerifier?: string): void {
  if (codeChallenge === null && codeVerifier === undefined) return;
  if (codeChallenge === null || codeVerifier === undefined || !verifierMatches(codeVerifier, codeChallenge)) {
    throw new OAuthError('invalid_grant', 'code_verifier is missing or wrong');
  }
}
