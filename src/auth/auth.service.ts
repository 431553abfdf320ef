import { Inject, Injectable } from '@nestjs/common';
import type { Origin } from '../audit/audit-event.js';
import { SETTINGS, type Settings } from '../platform/config/settings/settings.js';
import { OAuthError } from '../platform/errors/oauth-error.js';
import { challengeOf } from '../provider/adapters/authorization-request.js';
import { ProviderRegistry } from '../provider/provider.registry.js';
import { defaultRedirectUri, redirectUriAt } from '../provider/redirect-uris.js';
import { SignOutService } from '../device/sign-out.service.js';
import type { RefreshedToken } from '../token/refresh/refresh.dto.js';
import { IdleEnd, RefreshService } from '../token/refresh/refresh.service.js';
import { DpopProofs, type DpopCall } from '../token/dpop/dpop-proofs.js';
import type { AuthorizeDto, Authorization } from './authorize.dto.js';
import { providerParams } from './provider-params.dto.js';
import { checkAllowed, withoutQuery } from './service-endpoint.js';
import { StateService, type PendingSignIn, type SpentSignIn } from './states/state.service.js';
import type { TokenDto, IssuedTokens, RefreshDto } from './token.dto.js';
import { SignInSteps, type Verified } from './extensions/sign-in-steps.js';
import { SignInRefusals } from './sign-in/sign-in-refusals.js';
import { SignInService } from './sign-in/sign-in.service.js';

/**
 * The authorization code flow of the specification's clients (spec §1): `authorize` keeps a state and sends
 * the user to the provider; `exchange` spends the state, asks the provider for the identity, and issues
 * tokens. Flow of stock OAuth clients: clients/.
 */
@Injectable()
export class AuthService {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly states: StateService,
    private readonly proofs: DpopProofs,
    private readonly signIns: SignInService,
    private readonly steps: SignInSteps,
    private readonly refusals: SignInRefusals,
    private readonly refreshes: RefreshService,
    private readonly signOuts: SignOutService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Begins a sign-in (spec §4.2). @param query as it came: some of its parameters are for the provider */
  async authorize(
    params: AuthorizeDto,
    query: Readonly<Record<string, unknown>>,
    origin: Origin,
  ): Promise<Authorization> {
    const provider = await this.refusals.watch({ origin }, () => this.providers.get(params.provider));
    return this.refusals.watch({ origin, provider: params.provider }, async () => {
      const redirectUri = params.redirect_uri ?? defaultRedirectUri(this.settings, provider.settings);
      checkAllowed(this.settings, provider.settings, redirectUri);
      const { code_challenge: codeChallenge = null, code_challenge_method: method } = params;
      if ((codeChallenge === null) !== (method === undefined)) {
        const message = 'code_challenge needs code_challenge_method=S256, and the reverse';
        throw new OAuthError('invalid_request', message);
      }
      const passed = providerParams(provider.settings, query);
      const state = this.states.make();
      const { url, memory = null } = await provider.authorizationUrl({
        state,
        redirectUri: redirectUriAt(this.settings, provider.settings, redirectUri),
        ...passed,
      });
      const signIn = { provider: params.provider, redirectUri, codeChallenge, memory, clientRequest: null };
      await this.states.save(state, signIn);
      return { redirect_url: url.href, state, issuer: this.settings.publicUrl };
    });
  }

  /** Finishes a sign-in (spec §4.3). @param call a proof in it binds the session to its key */
  async exchange(params: TokenDto, call: DpopCall, origin: Origin): Promise<IssuedTokens> {
    const { proof, signIn } = await this.refusals.watch({ origin }, async () => ({
      proof: await this.proofs.validateAtSignIn(call), // first: a bad one spends no state
      signIn: await this.states.consume(params.state),
    }));
    const verified = await this.refusals.watch({ origin, provider: signIn.provider }, () => {
      checkSignIn(signIn, params);
      return this.verifyCode(signIn, params);
    });
    const admitted = await this.steps.check(verified, origin, params);
    return this.signIns.issue(admitted, params, { proof, origin });
  }

  /**
   * Issues an access token for a refresh token (spec §4.4). A session that its idle time has ended is signed
   * out (docs/guides/session-length.md#idle).
   */
  async refresh(params: RefreshDto, call: DpopCall, originOf: () => Origin): Promise<RefreshedToken> {
    try {
      return await this.refreshes.refresh(params, call, originOf);
    } catch (error) {
      if (error instanceof IdleEnd) {
        const bySystem = { ...originOf(), actor: { type: 'system', name: 'idle' } } as const;
        await this.signOuts.signOut('session', error.session, bySystem, { cause: 'idle' });
      }
      throw error;
    }
  }

  private async verifyCode(
    { provider: name, redirectUri, memory, requestedAt }: SpentSignIn,
    { code, state, iss }: TokenDto,
  ): Promise<Verified> {
    const provider = this.providers.get(name);
    const atProvider = redirectUriAt(this.settings, provider.settings, redirectUri);
    const identity = await provider.exchange({ code, state, redirectUri: atProvider, iss, memory });
    return { provider: name, identity, requestedAt };
  }
}

/** Checks that the request belongs to the sign-in of its state. @throws OAuthError `invalid_grant` */
function checkSignIn(signIn: PendingSignIn, { redirect_uri: redirectUri, code_verifier }: TokenDto): void {
  // The states of stock clients end at their callback.
  if (signIn.clientRequest !== null) throw otherKindOfSignIn();
  // Against mix-up (RFC 9700 §4.4.2.2). A client may post only code and state (spec §1, step 4).
  if (redirectUri !== undefined && redirectUri !== signIn.redirectUri) throw otherRedirectUri(redirectUri);
  checkCodeVerifier(signIn, code_verifier);
}

export function otherKindOfSignIn(): OAuthError {
  return new OAuthError('invalid_grant', 'state is of another kind of sign-in');
}

export function otherRedirectUri(redirectUri: string): OAuthError {
  const message = 'redirect_uri differs from the one of the authorization request';
  return new OAuthError('invalid_grant', message, { reason: `${message}: ${withoutQuery(redirectUri)}` });
}

// A verifier without a challenge is refused as well: an attacker may have removed the challenge (RFC 9700
// §4.8.2).
function checkCodeVerifier({ codeChallenge }: PendingSignIn, codeVerifier?: string): void {
  if (codeChallenge === null && codeVerifier === undefined) return;
  if (codeVerifier === undefined || challengeOf(codeVerifier) !== codeChallenge) {
    throw new OAuthError('invalid_grant', 'code_verifier is missing or wrong');
  }
}
