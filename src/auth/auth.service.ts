import { Inject, Injectable } from '@nestjs/common';
import type { Origin } from '../audit/audit-event.js';
import { SETTINGS, type Settings } from '../config/settings/settings.js';
import { Clock } from '../database/clock.js';
import { OAuthError } from '../errors/oauth-error.js';
import { challengeOf } from '../provider/adapters/authorization-request.js';
import { ProviderRegistry } from '../provider/provider.registry.js';
import { defaultRedirectUri, redirectUriAt } from '../provider/redirect-uris.js';
import { DpopProofs, type DpopCall } from '../token/dpop/dpop-proofs.js';
import type { AuthorizeDto, Authorization } from './authorize.dto.js';
import { providerParams } from './provider-params.dto.js';
import { checkAllowed, withoutQuery } from './service-endpoint.js';
import { StateService, type PendingSignIn } from './states/state.service.js';
import type { TokenDto, IssuedTokens } from './token.dto.js';
import { SignInRefusals } from './sign-in/sign-in-refusals.js';
import { TokenIssuer } from './sign-in/token-issuer.js';

/**
 * The authorization code flow of the specification's clients (spec §1): `authorize` keeps a state and sends the user to the provider;
 * `exchange` spends the state, asks the provider for the identity, and issues tokens. Flow of stock OAuth clients: clients/.
 */
@Injectable()
export class AuthService {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly states: StateService,
    private readonly proofs: DpopProofs,
    private readonly tokens: TokenIssuer,
    private readonly clock: Clock,
    private readonly refusals: SignInRefusals,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Begins a sign-in (spec §4.2). @param query as it came: some of its parameters are for the provider */
  authorize(
    params: AuthorizeDto,
    query: Readonly<Record<string, unknown>>,
    origin: Origin,
  ): Promise<Authorization> {
    return this.refusals.report(origin, async (attempt) => {
      const provider = this.providers.get(params.provider);
      attempt.provider = params.provider;
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
  exchange(params: TokenDto, call: DpopCall, origin: Origin): Promise<IssuedTokens> {
    return this.refusals.report(origin, async (attempt) => {
      const proof = await this.proofs.validate(call); // a bad one spends no state
      const signIn = await this.states.consume(params.state);
      attempt.provider = signIn.provider;
      // The states of stock clients end at their callback.
      if (signIn.clientRequest !== null) {
        throw new OAuthError('invalid_grant', 'state is of another kind of sign-in');
      }
      const { code, state, redirect_uri: given, code_verifier: codeVerifier, iss } = params;
      // Against mix-up (RFC 9700 §4.4.2.2). A client may post only code and state (spec §1, step 4).
      if (given !== undefined && given !== signIn.redirectUri) throw otherRedirectUri(given);
      checkCodeVerifier(signIn, codeVerifier);
      const asked = this.clock.now();
      const provider = this.providers.get(signIn.provider);
      const redirectUri = redirectUriAt(this.settings, provider.settings, signIn.redirectUri);
      const identity = await provider.exchange({ code, state, redirectUri, iss, memory: signIn.memory });
      const verified = { provider: signIn.provider, identity, asked };
      return this.tokens.issue(verified, params, { proof, origin, attempt });
    });
  }
}

export function otherRedirectUri(given: string): OAuthError {
  const message = 'redirect_uri differs from the one of the authorization request';
  return new OAuthError('invalid_grant', message, { reason: `${message}: ${withoutQuery(given)}` });
}

// A verifier without a challenge is refused as well: an attacker may have removed the challenge (RFC 9700 §4.8.2).
function checkCodeVerifier({ codeChallenge }: PendingSignIn, codeVerifier?: string): void {
  if (codeChallenge === null && codeVerifier === undefined) return;
  if (codeVerifier === undefined || challengeOf(codeVerifier) !== codeChallenge) {
    throw new OAuthError('invalid_grant', 'code_verifier is missing or wrong');
  }
}
