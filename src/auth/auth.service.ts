import { Inject, Injectable } from '@nestjs/common';
import type { Origin } from '../audit/audit-event.js';
import { SETTINGS, type Settings } from '../config/settings/settings.js';
import { Clock } from '../database/clock.js';
import { OAuthError } from '../errors/oauth-error.js';
import { challengeOf } from '../provider/adapters/authorization-request.js';
import type { Identity } from '../provider/identity/identity.js';
import { ProviderRegistry } from '../provider/provider.registry.js';
import { defaultRedirectUri, redirectUriAt } from '../provider/redirect-uris.js';
import { DpopProofs, type DpopCall } from '../token/dpop/dpop-proofs.js';
import type { AuthorizeDto, Authorization } from './authorize.dto.js';
import { providerParams } from './provider-params.dto.js';
import { checkAllowed, withoutQuery } from './service-endpoint.js';
import { StateService, type PendingSignIn } from './states/state.service.js';
import type { TokenDto, IssuedTokens } from './token.dto.js';
import { SignInRefusals, type Attempt } from './sign-in/sign-in-refusals.js';
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

  /**
   * Begins a sign-in: where to send the user, and the state that will come back (spec §4.2).
   * @param query as it came: some of its parameters are for the provider
   */
  authorize(
    params: AuthorizeDto,
    query: Readonly<Record<string, unknown>>,
    origin: Origin,
  ): Promise<Authorization> {
    return this.refusals.report(origin, (attempt) => this.begin(params, query, attempt));
  }

  private async begin(
    params: AuthorizeDto,
    query: Readonly<Record<string, unknown>>,
    attempt: Attempt,
  ): Promise<Authorization> {
    const provider = this.providers.get(params.provider);
    attempt.provider = params.provider;
    const redirectUri = params.redirect_uri ?? defaultRedirectUri(this.settings, provider.settings);
    checkAllowed(this.settings, provider.settings, redirectUri);
    if ((params.code_challenge === undefined) !== (params.code_challenge_method === undefined)) {
      throw new OAuthError(
        'invalid_request',
        'code_challenge needs code_challenge_method=S256, and the reverse',
      );
    }
    const passed = providerParams(provider.settings, query);
    const state = this.states.make();
    const { url, memory } = await provider.authorizationUrl({
      state,
      redirectUri: redirectUriAt(this.settings, provider.settings, redirectUri),
      ...passed,
    });
    await this.states.save(state, {
      provider: params.provider,
      redirectUri,
      codeChallenge: params.code_challenge ?? null,
      memory: memory ?? null,
      clientRequest: null,
    });
    return { redirect_url: url.href, state, issuer: this.settings.publicUrl };
  }

  /**
   * Finishes a sign-in: exchanges the provider's code for our own tokens (spec §4.3).
   * @param call with which they came: a proof in it binds the session to its key (contract §5)
   */
  exchange(params: TokenDto, call: DpopCall, origin: Origin): Promise<IssuedTokens> {
    return this.refusals.report(origin, async (attempt) => {
      const proof = await this.proofs.validate(call); // a bad one spends no state (contract §5)
      const signIn = await this.states.consume(params.state);
      attempt.provider = signIn.provider;
      // The states of stock clients end at their callback (contract §4).
      if (signIn.clientRequest !== null) {
        throw new OAuthError('invalid_grant', 'state is of another kind of sign-in');
      }
      checkRedirectUri(signIn, params.redirect_uri);
      checkCodeVerifier(signIn, params.code_verifier);
      const asked = this.clock.now();
      const identity = await this.askProvider(signIn, params);
      const verified = { provider: signIn.provider, identity, asked };
      return this.tokens.issue(verified, params, { proof, origin, attempt });
    });
  }

  private askProvider(signIn: PendingSignIn, { code, state, iss }: TokenDto): Promise<Identity> {
    const provider = this.providers.get(signIn.provider);
    return provider.exchange({
      code,
      state,
      redirectUri: redirectUriAt(this.settings, provider.settings, signIn.redirectUri),
      ...(iss !== undefined && { iss }),
      ...(signIn.memory !== null && { memory: signIn.memory }),
    });
  }
}

// Against mix-up (RFC 9700 §4.4.2.2). A client may post only code and state (spec §1, step 4).
function checkRedirectUri({ redirectUri }: PendingSignIn, given?: string): void {
  if (given !== undefined && given !== redirectUri) {
    throw otherRedirectUri(given);
  }
}

/** @param given redirect URI of the exchange */
export function otherRedirectUri(given: string): OAuthError {
  const message = 'redirect_uri differs from the one of the authorization request';
  return new OAuthError('invalid_grant', message, { reason: `${message}: ${withoutQuery(given)}` });
}

// A verifier without a challenge is refused as well: an attacker may have removed the challenge (RFC 9700 §4.8.2).
function checkCodeVerifier({ codeChallenge }: PendingSignIn, codeVerifier?: string): void {
  if (codeChallenge === null && codeVerifier === undefined) return;
  if (codeChallenge === null || codeVerifier === undefined || !verifierMatches(codeVerifier, codeChallenge)) {
    throw new OAuthError('invalid_grant', 'code_verifier is missing or wrong');
  }
}

/** Whether a verifier is the one that an S256 challenge was made from (RFC 7636 §4.6). */
export function verifierMatches(codeVerifier: string, codeChallenge: string): boolean {
  return challengeOf(codeVerifier) === codeChallenge;
}
