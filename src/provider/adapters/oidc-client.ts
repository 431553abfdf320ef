import { setImmediate as tick } from 'node:timers/promises';
import { types } from 'node:util';
import * as client from 'openid-client';
import { siblingVariable } from '../../platform/config/providers/provider-variables.js';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import {
  findCall,
  badAnswer,
  isAway,
  PRODUCT_CODES,
  ProviderRefusal,
  readAnswer,
  readObject,
} from '../transport/provider-answer.js';
import type { ProviderHttp, ProviderResponse } from '../transport/provider-http.js';
import { isHttp, isSafe, nameOf, reachable } from './addresses.js';
import { clientAuthentication } from './client-authentication.js';
import { usableClaims } from './id-token.js';
import { advice, Unsupported } from './unsupported.js';
import { usedKeys, usedMetadata, usedPushed, usedTokens } from './used-members.js';

/** Milliseconds for a document. Several requests may wait for it, so their signals do not end it. */
const DOCUMENT_MS = 5000;
const MICROSOFT = new URL('https://login.microsoftonline.com');

/**
 * Fetches the used members of a provider's discovery document.
 * @throws Unsupported if it names another issuer than the settings (OpenID Connect Discovery §4.3)
 */
export async function discover(
  http: ProviderHttp,
  provider: ProviderSettings,
): Promise<client.ServerMetadata> {
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
function isOfTenants({ url, options }: ProviderSettings, { issuer }: client.ServerMetadata): boolean {
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

/** Fetches the keys of a provider (`jwks_uri`) for logout tokens, which openid-client does not verify. */
export async function fetchKeys(
  http: ProviderHttp,
  provider: ProviderSettings,
  { jwks_uri: url, issuer }: client.ServerMetadata,
): Promise<Readonly<Record<string, unknown>>> {
  if (url === undefined) throw new Error('the discovery document names no jwks_uri');
  if (!isSafe(url, provider, issuer)) throw new Error('the jwks_uri is not https');
  const answer = await fetchDocument(http, url);
  if (answer.status !== 200) throw badAnswer(`the jwks_uri answered with status ${answer.status}`, answer);
  return usedKeys(readObject(answer));
}

/**
 * Fetches a public document, of any status.
 * @throws an error with the code ETIMEDOUT after the deadline
 * @public
 */
export async function fetchDocument(http: ProviderHttp, url: string): Promise<ProviderResponse> {
  const signal = AbortSignal.timeout(DOCUMENT_MS);
  try {
    const answer = await http.send({ url, signal });
    await tick(); // the connection is free again: the next request needs no handshake
    return answer;
  } catch (error) {
    if (!signal.aborted) throw error;
    const late = new Error(`timed out after ${DOCUMENT_MS} ms`);
    throw Object.assign(late, { code: 'ETIMEDOUT', call: findCall(error) });
  }
}

/**
 * Configures openid-client for one sign-in. The adapter verifies the signature of the ID token (id-token.ts).
 */
export async function configure(
  http: ProviderHttp,
  provider: ProviderSettings,
  metadata: client.ServerMetadata,
  signal?: AbortSignal,
): Promise<client.Configuration> {
  // oxlint-disable-next-line typescript/no-misused-promises -- the library awaits it
  const authentication: client.ClientAuth = clientAuthentication(provider, usualMethod(metadata));
  // Only the library's own discovery compares `iss` of an ID token with the issuer of its `tid`, and only for
  // Microsoft's address. It is given the document, and sends nothing.
  const configuration = isOfTenants(provider, metadata)
    ? await client.discovery(MICROSOFT, provider.clientId, undefined, authentication, {
        [client.customFetch]: () => Promise.resolve(Response.json(metadata)),
      })
    : new client.Configuration(metadata, provider.clientId, undefined, authentication);
  configuration[client.customFetch] = libraryFetch(http, provider, metadata, signal);
  // The library's check is all or nothing: libraryFetch decides about each address.
  if (isHttp(provider.url) || isHttp(metadata.issuer)) client.allowInsecureRequests(configuration);
  return configuration;
}
/** The form if the provider lists it, else Basic, the default of OpenID Connect (Discovery §3). */
function usualMethod({ token_endpoint_auth_methods_supported: supported = [] }: client.ServerMetadata) {
  return supported.includes('client_secret_post') ? 'client_secret_post' : 'client_secret_basic';
}

/**
 * Sends the library's requests within the limits of every adapter, and passes on the used members, as JSON.
 */
function libraryFetch(
  http: ProviderHttp,
  provider: ProviderSettings,
  { jwks_uri: jwksUri, pushed_authorization_request_endpoint: pushedTo, issuer }: client.ServerMetadata,
  signal?: AbortSignal,
): client.CustomFetch {
  const [keysAt, pushedAt] = [jwksUri, pushedTo].map((address) => address && new URL(address).href);
  return async (url, { method, headers, body, signal: librarySignal }) => {
    if (!isSafe(url, provider, issuer)) throw new Error('the address of the provider is not https');
    const answer = await http.send({
      url,
      headers,
      ...(body instanceof URLSearchParams && { body: body.toString() }),
      signal: signal ?? librarySignal ?? AbortSignal.timeout(DOCUMENT_MS),
    });
    await tick(); // as above
    if (url === pushedAt) {
      const status = answer.status === 201 ? 200 : answer.status; // RFC 9126 §2.2
      return Response.json(usedPushed(readAnswer({ ...answer, status }, PRODUCT_CODES)), { status: 201 });
    }
    if (method === 'POST')
      return Response.json(usedTokens(readAnswer(answer, PRODUCT_CODES), provider.clientId));
    // The code was valid, so these errors are not the client's fault.
    if (answer.status !== 200) throw badAnswer(`the provider answered with status ${answer.status}`, answer);
    if (url === keysAt) return Response.json(usedKeys(readObject(answer)));
    if (/^\s*application\/jwt\s*(?:;|$)/i.test(answer.contentType ?? '')) {
      return new Response(answer.body, { headers: { 'Content-Type': 'application/jwt' } }); // Core §5.3.2
    }
    return Response.json(usableClaims(readObject(answer)));
  };
}

/**
 * Returns an error of openid-client without its causes, which contain bodies, claims and tokens; keeps the
 * code of a provider that is away.
 */
export function withoutSecrets(error: unknown): Error {
  const texts = new Set<string>();
  let away: string | undefined;
  for (let at = error as Error & { code?: unknown }; types.isNativeError(at); at = at.cause as typeof at) {
    if (at instanceof Unsupported || at instanceof ProviderRefusal) return at;
    const code = typeof at.code === 'string' ? at.code : at.name;
    if (isAway({ code })) away ??= code;
    if (at.name !== 'SyntaxError') texts.add(at.message || code); // the parser quotes the text
  }
  const call = findCall(error);
  return Object.assign(
    new Error([...texts].join(': ') || 'unknown error'),
    away !== undefined && { code: away },
    call !== undefined && { call },
  );
}
