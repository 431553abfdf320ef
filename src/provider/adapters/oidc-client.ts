import { setImmediate as nextTurn } from 'node:timers/promises';
import * as client from 'openid-client';
import type { ProviderSettings } from '../../config/settings.js';
import { readJson } from '../provider-answer.js';
import type { ProviderHttp } from '../provider-http.js';
import { clientAuthentication } from './client-authentication.js';
import { judgeToken } from './judge-token.js';
import { Unsupported } from './unsupported.js';

/** Seconds for a discovery document. Several requests may wait for it, so it does not follow the signal of one of them. */
const DISCOVERY_SECONDS = 5;

/**
 * Fetches the discovery document of a provider, whose `url` is the issuer.
 * @throws Unsupported when it names another issuer (OpenID Connect Discovery §4.3): it could then speak for anybody.
 */
export async function discover(
  http: ProviderHttp,
  provider: ProviderSettings,
): Promise<client.ServerMetadata> {
  // Given the whole path, the library leaves the comparison to us. A slash at the end must not matter: settings have none
  // (contract §2), some issuers do.
  const address = new URL(`${provider.url}/.well-known/openid-configuration`);
  const configuration = await client.discovery(address, provider.clientId, undefined, undefined, {
    [client.customFetch]: libraryFetch(http),
    timeout: DISCOVERY_SECONDS,
    execute: isInsecure(provider) ? [client.allowInsecureRequests] : [],
  });
  const metadata = configuration.serverMetadata();
  if (metadata.issuer.replace(/\/$/, '') !== provider.url) {
    throw new Unsupported('issuer', nameOf(metadata.issuer));
  }
  return metadata;
}

/** What may be told of an issuer that is not the one of the settings: an address, and not a long one. */
function nameOf(issuer: string): string {
  return /^https?:\/\/[!-~]{1,200}$/i.test(issuer) ? issuer : 'which is no address';
}

/**
 * Fetches the keys of a provider (`jwks_uri`), for what openid-client does not verify.
 * @throws when there are none to be had
 */
export async function fetchKeys(
  http: ProviderHttp,
  provider: ProviderSettings,
  { jwks_uri: url }: client.ServerMetadata,
): Promise<Readonly<Record<string, unknown>>> {
  if (url === undefined) throw new Error('the discovery document names no jwks_uri');
  if (!isInsecure(provider) && !/^https:/i.test(url)) throw new Error('the jwks_uri is not https');
  const signal = AbortSignal.timeout(DISCOVERY_SECONDS * 1000);
  const { status, body } = await http.send({
    method: 'GET',
    url,
    headers: { Accept: 'application/json' },
    signal,
  });
  if (status !== 200) throw new Error(`the jwks_uri answered with status ${status}`);
  return readJson(body);
}

/**
 * What the library needs for one sign-in. Without the signature check that is switched on here, it would trust anything
 * that the token endpoint answers. It is made anew for each sign-in, so the provider's keys are fetched each time: a
 * withdrawn key is no longer accepted, and a new one is accepted at once.
 */
export function configure(
  http: ProviderHttp,
  provider: ProviderSettings,
  metadata: client.ServerMetadata,
  signal?: AbortSignal,
): client.Configuration {
  const authentication = clientAuthentication(provider, usualMethod(metadata));
  const configuration = new client.Configuration(metadata, provider.clientId, undefined, authentication);
  configuration[client.customFetch] = libraryFetch(http, signal);
  client.enableNonRepudiationChecks(configuration);
  if (isInsecure(provider)) client.allowInsecureRequests(configuration);
  return configuration;
}

/**
 * The form where the provider takes it (contract §6), since not every provider decodes what Basic encodes; else Basic, the
 * default of OpenID Connect (Discovery §3).
 */
function usualMethod({ token_endpoint_auth_methods_supported: supported = [] }: client.ServerMetadata) {
  return supported.includes('client_secret_post') ? 'client_secret_post' : 'client_secret_basic';
}

/** The settings allow an http issuer only on loopback or outside production. Then none of its addresses needs to be https. */
function isInsecure(provider: ProviderSettings): boolean {
  return provider.url?.startsWith('http:') ?? false;
}

/** The library's requests, held to the limits of every adapter (contract §6). */
function libraryFetch(http: ProviderHttp, signal?: AbortSignal): client.CustomFetch {
  return async (url, { method, headers, body, signal: librarySignal }) => {
    const answer = await http.send({
      method: method as 'GET' | 'POST',
      url,
      headers,
      ...(body instanceof URLSearchParams && { body: body.toString() }),
      signal: signal ?? librarySignal ?? AbortSignal.timeout(DISCOVERY_SECONDS * 1000),
    });
    await nextTurn(); // then its connection is free again, and the next request needs no handshake of its own
    // An OAuth error is known by its code alone (contract §3). The library wants a status, a content type and no
    // challenge beside it.
    if (hasError(answer.body)) {
      return new Response(answer.body, { status: 400, headers: { 'Content-Type': 'application/json' } });
    }
    judgeToken(answer.body, answer.contentType);
    return new Response(answer.body, {
      status: answer.status,
      headers: answer.contentType === undefined ? {} : { 'Content-Type': answer.contentType },
    });
  };
}

function hasError(body: Uint8Array): boolean {
  try {
    return typeof readJson(body)['error'] === 'string';
  } catch {
    return false;
  }
}
