import { Inject, Injectable } from '@nestjs/common';
import type { Origin } from '../../audit/audit-event.js';
import { SETTINGS, type ProviderSettings, type Settings } from '../../platform/config/settings/settings.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { percentDecoded, readBasic } from '../../platform/http/basic-credentials.js';
import { challengeOf } from '../../provider/adapters/authorization-request.js';
import type { Provider } from '../../provider/provider.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { providerCallback } from '../../provider/redirect-uris.js';
import { DpopProofs, type DpopCall } from '../../token/dpop/dpop-proofs.js';
import { otherRedirectUri } from '../auth.service.js';
import { providerParams } from '../provider-params.dto.js';
import { checkAllowed } from '../service-endpoint.js';
import { SignInRefusals } from '../sign-in/sign-in-refusals.js';
import { SignInService } from '../sign-in/sign-in.service.js';
import { StateService } from '../states/state.service.js';
import type { ClientTokenDto, IssuedTokens } from '../token.dto.js';
import { AuthorizationCodes, type CodeBinding } from './authorization-codes.js';
import type { ClientAuthorizeDto } from './clients.dto.js';
import {
  toClientError,
  ErrorForClient,
  type ClientAddress,
  type ClientError,
  type ClientRequest,
} from './client-request.js';
import { chooseProvider, type ProviderChoice, buildCookie } from './provider-page.js';
import { buildReturnCookie } from './way-back.js';

/** Answer to the browser: a redirect, with a cookie if there is something to remember, or a page. */
export type Next = { readonly address: string; readonly cookies?: readonly string[] } | ProviderChoice;

/** Query of the request, as it came. */
type Query = Readonly<Record<string, unknown>>;

/**
 * The authorization code flow of stock OAuth clients (RFC 6749 §4.1), as AuthService is that of the
 * specification's.
 */
@Injectable()
export class ClientSignIns {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly states: StateService,
    private readonly codes: AuthorizationCodes,
    private readonly proofs: DpopProofs,
    private readonly signIns: SignInService,
    private readonly refusals: SignInRefusals,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Begins a sign-in (RFC 6749 §4.1.1).
   * @param last the provider that the browser used last, if it has said so
   * @throws OAuthError `invalid_request` if the browser must not be sent to `redirect_uri` (RFC 6749
   *   §4.1.2.1); ErrorForClient for everything else
   */
  async begin(request: ClientAuthorizeDto, query: Query, origin: Origin, last?: string): Promise<Next> {
    const all = this.providers.list();
    const chosen = await this.refusals.watch({ origin }, () => this.findProvider(request, all));
    if (!chosen.provider) return chooseProvider(request, query, all, last);
    const { provider, client } = chosen;
    const { name } = provider.settings;
    const address = await this.refusals.watch({ origin, provider: name }, () => {
      return this.sendToProvider(provider, client, query);
    });
    const isSecure = this.settings.publicUrl.startsWith('https:');
    const cookies = [
      buildReturnCookie(client.redirectUri, isSecure),
      all.length > 1 ? buildCookie(name, isSecure) : undefined,
    ];
    return { address, cookies: cookies.filter((one) => one !== undefined) };
  }

  /**
   * Finishes a sign-in (RFC 6749 §4.1.3): redeems its code. Headers are validated first, so that a fault in
   * them spends no code.
   * @throws OAuthError `invalid_grant`; the code is spent, since it may have been stolen
   */
  async exchange(
    params: ClientTokenDto,
    call: DpopCall,
    origin: Origin,
    authorization?: string,
  ): Promise<IssuedTokens> {
    const { clientIds, proof, redeemed } = await this.refusals.watch({ origin }, async () => ({
      clientIds: basicClientIds(authorization),
      proof: await this.proofs.validateAtSignIn(call),
      redeemed: await this.codes.redeem(params.code),
    }));
    await this.refusals.watch({ origin, provider: redeemed.provider }, () =>
      checkBinding(redeemed, params, clientIds),
    );
    return this.signIns.issue(redeemed, params, { proof, origin });
  }

  /** Checks the request of a client. @returns no provider if the user is to choose one of several */
  private findProvider(
    request: ClientAuthorizeDto,
    all: readonly ProviderSettings[],
  ): { readonly client: ClientRequest; readonly provider?: Provider } {
    const { client_id: clientId, redirect_uri: redirectUri, state = null } = request;
    // REDIRECT_URIS alone applies: a provider's own list is for the specification's flow
    // (docs/stock-clients.md#settings).
    checkAllowed(this.settings, {}, redirectUri);
    const codeChallenge = this.parseCodeChallenge({ redirectUri, state }, request);
    const client = { clientId, redirectUri, state, codeChallenge };
    if (request.provider === undefined) {
      if (all.length === 0) throw this.refusal(client, 'server_error', 'no provider is enabled');
      if (all.length > 1) return { client };
    }
    const provider = this.providers.find(request.provider ?? all[0]!.name);
    if (!provider) throw this.refusal(client, 'invalid_request', 'provider is unknown or disabled');
    return { client, provider };
  }

  /** Only the code flow with PKCE is supported (RFC 9700 §2.1.1). */
  private parseCodeChallenge(client: ClientAddress, request: ClientAuthorizeDto): string {
    if (request.response_type !== 'code') {
      throw this.refusal(client, 'unsupported_response_type', 'response_type must be code');
    }
    if (request.response_mode !== undefined && request.response_mode !== 'query') {
      throw this.refusal(client, 'invalid_request', 'only response_mode query is supported');
    }
    const { code_challenge: challenge, code_challenge_method: method } = request;
    if (challenge === undefined || method !== 'S256' || !/^[A-Za-z0-9_-]{43}$/.test(challenge)) {
      const message = 'code_challenge with code_challenge_method=S256 is required';
      throw this.refusal(client, 'invalid_request', message);
    }
    return challenge;
  }

  /** @returns the provider's authorization page */
  private async sendToProvider(provider: Provider, client: ClientRequest, query: Query): Promise<string> {
    const { name } = provider.settings;
    const redirectUri = providerCallback(this.settings, name);
    const passed = this.passed(provider, client, query);
    const state = this.states.make();
    try {
      const { url, memory = null } = await provider.authorizationUrl({ state, redirectUri, ...passed });
      const signIn = { provider: name, redirectUri, memory, codeChallenge: null, clientRequest: client };
      await this.states.save(state, signIn);
      return url.href;
    } catch (cause) {
      throw new ErrorForClient(client, this.settings.publicUrl, toClientError(cause), { cause });
    }
  }

  private passed(
    provider: Provider,
    client: ClientAddress,
    query: Query,
  ): { params?: Record<string, string> } {
    try {
      return providerParams(provider.settings, query);
    } catch (cause) {
      const { description } = cause as OAuthError;
      throw this.refusal(client, 'invalid_request', description);
    }
  }

  private refusal(client: ClientAddress, error: ClientError, description: string): ErrorForClient {
    return new ErrorForClient(client, this.settings.publicUrl, error, { description });
  }
}

/** @param clientIds in `Authorization`, which must agree with `client_id` */
function checkBinding(
  bound: CodeBinding,
  params: ClientTokenDto,
  clientIds: readonly string[] | undefined,
): void {
  const isSame = params.client_id === undefined || params.client_id === bound.clientId;
  if (!isSame || clientIds?.includes(bound.clientId) === false) {
    throw new OAuthError('invalid_grant', 'the code was issued to another client');
  }
  if (params.redirect_uri !== bound.redirectUri) throw otherRedirectUri(params.redirect_uri);
  if (challengeOf(params.code_verifier) !== bound.codeChallenge) {
    throw new OAuthError('invalid_grant', 'code_verifier is wrong');
  }
}

/**
 * Reads the client id in `Authorization: Basic` (RFC 6749 §2.3.1); clients have no secrets here, so the
 * password is ignored.
 * @returns as it was sent, since not every client encodes it, and decoded as a form
 * @throws OAuthError `invalid_request` if the header cannot be read
 */
function basicClientIds(authorization = ''): readonly string[] | undefined {
  if (!/^basic(?: |$)/i.test(authorization)) return undefined;
  const credentials = readBasic(authorization);
  if (!credentials) throw new OAuthError('invalid_request', 'the Authorization header is malformed');
  const { userName } = credentials;
  return userName === '' ? undefined : [userName, percentDecoded(userName.replaceAll('+', ' '))];
}
