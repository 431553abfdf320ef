import { setImmediate as tick } from 'node:timers/promises';
import type { JSONWebKeySet } from 'jose';
import { siblingVariable } from '../../platform/config/providers/provider-variables.js';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import { badAnswer, findCall, PRODUCT_CODES, readAnswer, readObject } from '../transport/provider-answer.js';
import type { ProviderHttp, ProviderRequest, ProviderResponse } from '../transport/provider-http.js';
import { isSafe, nameOf, reachable } from './addresses.js';
import { authenticate } from './client-authentication.js';
import { advice, Unsupported } from './unsupported.js';
import { textIn, usedKeys, usedMetadata, type Metadata } from './used-members.js';

/** Milliseconds for a document. Several requests may wait for it, so their signals do not end it. */
const DOCUMENT_MS = 5000;

/**
 * Fetches the used members of a provider's discovery document.
 * @throws Unsupported if it names another issuer than the settings (OpenID Connect Discovery §4.3)
 */
export async function discover(http: ProviderHttp, provider: ProviderSettings): Promise<Metadata> {
  const answer = await fetchDocument(http, `${provider.url}/.well-known/openid-configuration`);
  if (answer.status !== 200) throw badAnswer('the discovery document is not available', answer);
  const metadata = usedMetadata(readObject(answer));
  // Some issuers end with a slash; the setting has none.
  if (metadata.issuer.replace(/\/$/, '') !== nameOf(provider) && !isOfTenants(provider, metadata)) {
    throw new Unsupported(provider.name, [badAnswer(issuerAdvice(metadata.issuer, provider), answer)]);
  }
  return reachable(provider, metadata);
}

/**
 * Whether an issuer is Microsoft's for many tenants, of which the settings allow some; the ID token names one
 * (docs/providers.md#not-supported).
 */
function isOfTenants({ url, options }: ProviderSettings, { issuer }: Metadata): boolean {
  const template = url?.replace(/\/(?:common|organizations)(?=\/|$)/i, '/{tenantid}');
  return options['tenants'] !== undefined && issuer.includes('{tenantid}') && issuer === template;
}

/** Names the other issuer, and the values to set if the operator meant it. */
function issuerAdvice(issuer: string, { variables, issuer: name }: ProviderSettings): string {
  if (!/^https?:\/\/[!-~]{1,200}$/i.test(issuer)) return advice('issuer', 'which is not an address');
  const found = advice('issuer', issuer);
  const [url, adapter] = ['url', 'adapter'].map((key) => siblingVariable(variables.adapter, key));
  if (!issuer.includes('{tenantid}')) {
    if (name !== undefined) return `${found}: set ${variables.issuer} to ${issuer}`;
    return `${found}: set ${url} to ${issuer}, or ${variables.issuer} to it if url is an inner address`;
  }
  const own = issuer.replace('{tenantid}', '<tenant id>');
  return `${found}: set ${url} to ${own} for one tenant, or ${adapter} to microsoft for several`;
}

/** Fetches the keys of a provider (`jwks_uri`). @param signal without one, the usual time limit counts */
export async function fetchKeys(
  http: ProviderHttp,
  provider: ProviderSettings,
  { jwks_uri: url, issuer }: Pick<Metadata, 'jwks_uri' | 'issuer'>,
  signal?: AbortSignal,
): Promise<JSONWebKeySet> {
  if (url === undefined) throw new Error('the discovery document names no jwks_uri');
  if (!isSafe(url, provider, issuer)) throw new Error('the jwks_uri is not https');
  const answer = await fetchDocument(http, url, signal);
  if (answer.status !== 200) throw badAnswer(`the jwks_uri answered with status ${answer.status}`, answer);
  return usedKeys(readObject(answer));
}

/**
 * Fetches a public document, of any status.
 * @throws an error with the code ETIMEDOUT after the usual time limit
 * @public
 */
export async function fetchDocument(
  http: ProviderHttp,
  url: string,
  signal?: AbortSignal,
): Promise<ProviderResponse> {
  const limit = signal ?? AbortSignal.timeout(DOCUMENT_MS);
  try {
    const answer = await http.send({ url, signal: limit });
    await tick(); // the connection is free again: the next request needs no handshake
    return answer;
  } catch (error) {
    if (signal || !limit.aborted) throw error;
    const late = new Error(`timed out after ${DOCUMENT_MS} ms`);
    throw Object.assign(late, { code: 'ETIMEDOUT', call: findCall(error) });
  }
}

/** Used members of an answer of the token endpoint (RFC 6749 §5.1; OpenID Connect Core §3.1.3.3). */
export interface Tokens {
  /** Used as a bearer token only. */
  readonly accessToken: string | undefined;
  readonly idToken: string | undefined;
  readonly refreshToken: string | undefined;
}

/** Asks a provider, for one sign-in or refresh. */
export class OidcClient {
  private published?: Promise<JSONWebKeySet>;

  constructor(
    private readonly http: ProviderHttp,
    readonly provider: ProviderSettings,
    readonly metadata: Metadata,
    private readonly signal?: AbortSignal,
  ) {}

  /** @throws ProviderRefusal as `readAnswer` */
  async requestTokens(parameters: Readonly<Record<string, string>>): Promise<Tokens> {
    const answer = await this.post(this.metadata.token_endpoint, parameters);
    const members = readAnswer(answer, PRODUCT_CODES);
    return {
      accessToken: textIn(members['access_token']),
      idToken: textIn(members['id_token']),
      refreshToken: textIn(members['refresh_token']),
    };
  }

  /** Pushes the parameters of an authorization request (RFC 9126 §2). @returns its `request_uri` */
  async push(parameters: Readonly<Record<string, string>>): Promise<string> {
    const answer = await this.post(this.metadata.pushed_authorization_request_endpoint, parameters);
    const status = answer.status === 201 ? 200 : answer.status;
    const uri = textIn(readAnswer({ ...answer, status }, PRODUCT_CODES)['request_uri']);
    if (uri === undefined) throw badAnswer('the provider answered with no usable request_uri', answer);
    return uri;
  }

  async userinfo(accessToken: string): Promise<ProviderResponse> {
    const headers = {
      Authorization: `Bearer ${accessToken}`,
      Accept: 'application/json, application/jwt',
    };
    const answer = await this.send(this.metadata.userinfo_endpoint, { headers });
    // The code was valid, so these errors are not the client's fault.
    if (answer.status !== 200) throw badAnswer(`the provider answered with status ${answer.status}`, answer);
    return answer;
  }

  /** Fetched for each sign-in: a withdrawn key is rejected at once. */
  keys(): Promise<JSONWebKeySet> {
    return (this.published ??= fetchKeys(this.http, this.provider, this.metadata, this.signal));
  }

  private async post(url: string | undefined, parameters: Readonly<Record<string, string>>) {
    // The form if the provider lists it, else Basic, the default of OpenID Connect (Discovery §3).
    const takesForm = this.metadata.token_endpoint_auth_methods_supported?.includes('client_secret_post');
    const usual = takesForm ? 'client_secret_post' : 'client_secret_basic';
    const form = new URLSearchParams(parameters);
    const headers = await authenticate(this.provider, this.metadata, form, usual);
    return this.send(url, { headers, body: form.toString() });
  }

  private async send(
    url = '',
    request: Pick<ProviderRequest, 'headers' | 'body'>,
  ): Promise<ProviderResponse> {
    if (!isSafe(url, this.provider, this.metadata.issuer)) {
      throw new Error('the address of the provider is not https');
    }
    const signal = this.signal ?? AbortSignal.timeout(DOCUMENT_MS);
    const answer = await this.http.send({ ...request, url, signal });
    await tick(); // as above
    return answer;
  }
}
