import { Inject, Injectable } from '@nestjs/common';
import type { Origin } from '../../audit/audit-event.js';
import type { ProviderSettings, Settings } from '../../config/settings/settings.js';
import { SETTINGS } from '../../config/settings/settings.module.js';
import type { OAuthError } from '../../errors/oauth-error.js';
import { html, type Html } from '../../http/page/html.js';
import { layout } from '../../http/page/layout.js';
import { listed } from '../../provider/listed-provider.js';
import type { Provider } from '../../provider/provider.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { providerCallback } from '../../provider/redirect-uris.js';
import { providerParams } from '../provider-params.dto.js';
import { checkAllowed } from '../service-endpoint.js';
import { SignInRefusals, type Attempt } from '../sign-in/sign-in-refusals.js';
import { StateService } from '../states/state.service.js';
import type { ClientAuthorizeDto } from './clients.dto.js';
import { clientErrorOf, ErrorForClient, type ClientError, type ClientRequest } from './client-request.js';

/** Answer to the browser: a redirect or a page. */
export type Next = { readonly address: string } | { readonly page: Html };

/** Query of the request, as it came. */
type Query = Readonly<Record<string, unknown>>;

/** The client, without its code challenge. */
type Client = Pick<ClientRequest, 'clientId' | 'redirectUri' | 'state'>;

/** Begins a sign-in for a stock OAuth client (RFC 6749 §4.1.1; contract §4). */
@Injectable()
export class ClientAuthorization {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly states: StateService,
    private readonly refusals: SignInRefusals,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * @throws OAuthError `invalid_request` if the browser must not be sent to `redirect_uri` (RFC 6749 §4.1.2.1);
   *   ErrorForClient for everything else
   */
  begin(request: ClientAuthorizeDto, query: Query, origin: Origin): Promise<Next> {
    return this.refusals.report(origin, (attempt) => this.next(request, query, attempt));
  }

  private async next(request: ClientAuthorizeDto, query: Query, attempt: Attempt): Promise<Next> {
    const client = this.trusted(request);
    const codeChallenge = this.codeChallengeOf(client, request);
    if (request.provider === undefined) {
      const all = this.providers.list();
      if (all.length === 0) throw this.refusal(client, 'server_error', 'no provider is enabled');
      if (all.length > 1) return { page: providerPage(request, query, all) };
    }
    const provider = this.providers.find(request.provider ?? this.providers.list()[0]!.name);
    if (!provider) throw this.refusal(client, 'invalid_request', 'provider is unknown or disabled');
    attempt.provider = provider.settings.name;
    return { address: await this.send(provider, { ...client, codeChallenge }, query) };
  }

  /** REDIRECT_URIS alone applies: a provider's own list is for the specification's flow (contract §4). */
  private trusted({ client_id: clientId, redirect_uri: redirectUri, state }: ClientAuthorizeDto): Client {
    checkAllowed(this.settings, {}, redirectUri);
    return { clientId, redirectUri, state: state ?? null };
  }

  /** Only the code flow with PKCE is supported (RFC 9700 §2.1.1). */
  private codeChallengeOf(client: Client, request: ClientAuthorizeDto): string {
    if (request.response_type !== 'code') {
      throw this.refusal(client, 'unsupported_response_type', 'response_type must be code');
    }
    if (request.response_mode !== undefined && request.response_mode !== 'query') {
      throw this.refusal(client, 'invalid_request', 'only response_mode query is supported');
    }
    const { code_challenge: challenge, code_challenge_method: method } = request;
    if (challenge === undefined || method !== 'S256' || !/^[A-Za-z0-9_-]{43}$/.test(challenge)) {
      throw this.refusal(
        client,
        'invalid_request',
        'code_challenge with code_challenge_method=S256 is required',
      );
    }
    return challenge;
  }

  /** @returns the provider's authorization page */
  private async send(provider: Provider, client: ClientRequest, query: Query): Promise<string> {
    const { name } = provider.settings;
    const redirectUri = providerCallback(this.settings, name);
    const passed = this.passed(provider, client, query);
    const state = this.states.make();
    try {
      const { url, memory = null } = await provider.authorizationUrl({ state, redirectUri, ...passed });
      await this.states.save(state, {
        provider: name,
        redirectUri,
        memory,
        codeChallenge: null,
        clientRequest: client,
      });
      return url.href;
    } catch (cause) {
      throw new ErrorForClient(client, this.settings.publicUrl, clientErrorOf(cause), { cause });
    }
  }

  private passed(provider: Provider, client: Client, query: Query): { params?: Record<string, string> } {
    try {
      return providerParams(provider.settings, query);
    } catch (cause) {
      const { description } = cause as OAuthError;
      throw this.refusal(client, 'invalid_request', description);
    }
  }

  private refusal(client: Client, error: ClientError, description: string): ErrorForClient {
    return new ErrorForClient(client, this.settings.publicUrl, error, { description });
  }
}

/** Page on which the user chooses a provider; each link repeats the client's request. */
function providerPage(
  { redirect_uri: redirectUri }: ClientAuthorizeDto,
  query: Query,
  providers: readonly ProviderSettings[],
): Html {
  const parameters = Object.entries(query).filter((entry): entry is [string, string] => isText(entry[1]));
  const link = (provider: ProviderSettings): Html => {
    const own = new URLSearchParams([...parameters, ['provider', provider.name]]);
    return html`<li><a href="?${own.toString()}">${listed(provider).label}</a></li>`;
  };
  return layout(
    { title: 'Sign in', brand: 'Sign in' },
    html`<h1>Where do you want to sign in?</h1>
      <p class="lead">to continue to <strong>${destinationOf(redirectUri)}</strong></p>
      <ul class="choices">
        ${providers.map(link)}
      </ul>`,
  );
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';

/** Host, or the name of an app's private scheme, for people to recognize. */
function destinationOf(redirectUri: string): string {
  const { host, protocol } = new URL(redirectUri);
  return /^https?:$/.test(protocol) ? host : protocol.slice(0, -1);
}
