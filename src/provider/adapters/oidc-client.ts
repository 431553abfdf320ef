import { setImmediate as nextTurn } from 'node:timers/promises';
import { types } from 'node:util';
import * as client from 'openid-client';
import type { ProviderSettings } from '../../config/settings/settings.js';
import {
  askedOf,
  badAnswer,
  isAway,
  ProviderRefusal,
  readAnswer,
  readObject,
} from '../transport/provider-answer.js';
import type { ProviderHttp, ProviderResponse } from '../transport/provider-http.js';
import { clientAuthentication } from './client-authentication.js';
import { advice, Unsupported } from './unsupported.js';
import { usedKeys, usedMetadata, usedTokens } from './used-members.js';

/** Seconds for a discovery document. Several requests may wait for it, so it does not follow the signal of one of them. */
const DISCOVERY_SECONDS = 5;

/**
 * Fetches the members of a provider's discovery document that are used; `url` of the provider is the issuer.
 * @throws Unsupported when it names another issuer (OpenID Connect Discovery §4.3): it could then speak for anybody.
 */
export async function discover(
  http: ProviderHttp,
  provider: ProviderSettings,
): Promise<client.ServerMetadata> {
  const answer = await fetchDocument(http, `${provider.url}/.well-known/openid-configuration`);
  if (answer.status !== 200) throw badAnswer('the discovery document cannot be had', answer);
  const metadata = usedMetadata(readObject(answer));
  // A slash at the end must not matter: settings have none (contract §2), some issuers do.
  if (metadata.issuer.replace(/\/$/, '') !== provider.url) {
    const line = advice('issuer', nameOf(metadata.issuer));
    throw new Unsupported(provider.name, [badAnswer(line, answer)]);
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
  const answer = await fetchDocument(http, url);
  if (answer.status !== 200) throw badAnswer(`the jwks_uri answered with status ${answer.status}`, answer);
  return usedKeys(readObject(answer));
}

/** One document of a provider. @throws with the code ETIMEDOUT when it took too long */
async function fetchDocument(http: ProviderHttp, url: string): Promise<ProviderResponse> {
  const signal = AbortSignal.timeout(DISCOVERY_SECONDS * 1000);
  try {
    const headers = { Accept: 'application/json' };
    const answer = await http.send({ method: 'GET', url, headers, signal });
    await nextTurn(); // then its connection is free again, and the next request needs no handshake of its own
    return answer;
  } catch (error) {
    if (!signal.aborted) throw error;
    const late = new Error(`no answer within ${DISCOVERY_SECONDS} s`);
    throw Object.assign(late, { code: 'ETIMEDOUT', asked: askedOf(error) });
  }
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
  configuration[client.customFetch] = libraryFetch(http, metadata, signal);
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

/**
 * The library's requests, held to the limits of every adapter (contract §6). Of the answers it gets only what is used, and as
 * JSON: the content type is not judged (contract §3).
 */
function libraryFetch(
  http: ProviderHttp,
  { jwks_uri: jwksUri }: client.ServerMetadata,
  signal?: AbortSignal,
): client.CustomFetch {
  const keysAt = jwksUri === undefined ? undefined : new URL(jwksUri).href;
  return async (url, { method, headers, body, signal: librarySignal }) => {
    const answer = await http.send({
      method: method as 'GET' | 'POST',
      url,
      headers,
      ...(body instanceof URLSearchParams && { body: body.toString() }),
      signal: signal ?? librarySignal ?? AbortSignal.timeout(DISCOVERY_SECONDS * 1000),
    });
    await nextTurn(); // then its connection is free again, and the next request needs no handshake of its own
    if (method === 'POST') return json(usedTokens(readAnswer(answer)));
    // The code was good already, so no error of these is the client's fault.
    if (answer.status !== 200) throw badAnswer(`the provider answered with status ${answer.status}`, answer);
    if (url === keysAt) return json(usedKeys(readObject(answer)));
    if (/^\s*application\/jwt\s*(?:;|$)/i.test(answer.contentType ?? '')) {
      return new Response(answer.body, { headers: { 'Content-Type': 'application/jwt' } }); // Core §5.3.2
    }
    return json(readObject(answer));
  };
}

function json(body: object): Response {
  return Response.json(body);
}

/**
 * Returns an error of openid-client without its causes: they hold bodies, claims and tokens, and errors are logged with all their
 * causes. Only the library's fixed texts are kept.
 */
export function withoutSecrets(error: unknown): Error {
  const words: string[] = [];
  let known: string | undefined; // the code of a provider that is away
  for (let at = error; types.isNativeError(at); at = at.cause) {
    if (at instanceof Unsupported || at instanceof ProviderRefusal) return at;
    const code = codeOf(at);
    if (isAway({ code })) known ??= code;
    const said = at.message || code;
    if (at.name !== 'SyntaxError' && !words.includes(said)) words.push(said); // the parser quotes what it could not read
  }
  const asked = askedOf(error);
  return Object.assign(
    new Error(words.join(': ') || 'unknown error'),
    known !== undefined && { code: known },
    asked !== undefined && { asked },
  );
}

/** The code of a failed connection, whose message may be empty. */
function codeOf(error: Error & { code?: unknown }): string {
  return typeof error.code === 'string' ? error.code : error.name;
}
