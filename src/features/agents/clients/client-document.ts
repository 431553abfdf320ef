import type { JSONWebKeySet } from 'jose';
import { isLoopbackUrl, isRedirectUri } from '../../../platform/config/urls/urls.js';
import { isObject } from '../../../platform/http/parameters/json.js';
import { toPlainName } from './plain-name.js';

const MOST_REDIRECT_URIS = 20;
const LONGEST_URI = 2048;

/** Source of the keys of a program. */
type KeySource = { readonly jwks: JSONWebKeySet } | { readonly jwksUri: string };

/** A client ID metadata document (draft-ietf-oauth-client-id-metadata-document §4.1). */
export interface ClientDocument {
  readonly name: string;
  readonly redirectUris: readonly string[];
  /** With `private_key_jwt`; absent: the program does not authenticate itself. */
  readonly keys?: KeySource;
}

/** A document that cannot be accepted; the message is for the log and the trail. */
export class UnusableDocument extends Error {}

/**
 * Reads a document. Members that are not used here are ignored.
 * @param content parsed JSON
 * @throws UnusableDocument
 */
export function readClientDocument(content: unknown, clientId: string): ClientDocument {
  if (!isObject(content)) throw new UnusableDocument('it is no JSON object');
  if (content['client_id'] !== clientId) throw new UnusableDocument('its client_id is another one');
  if (content['client_secret'] !== undefined) throw new UnusableDocument('it has a client_secret');
  const { client_name: name, redirect_uris: redirectUris } = content;
  return {
    name: (typeof name === 'string' ? toPlainName(name) : undefined) ?? new URL(clientId).host,
    redirectUris: readRedirectUris(redirectUris),
    ...readKeys(content),
  };
}

/** @throws UnusableDocument */
export function readKeySet(content: unknown): JSONWebKeySet {
  const isKeySet = isObject(content) && Array.isArray(content['keys']) && content['keys'].every(isObject);
  if (isKeySet) return content as unknown as JSONWebKeySet;
  throw new UnusableDocument('it is no set of keys');
}

function readRedirectUris(value: unknown): readonly string[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [];
  const usable = all.filter((one): one is string => typeof one === 'string' && isUsable(one));
  if (usable.length === 0)
    throw new UnusableDocument('it has no redirect_uris with https, or http on loopback');
  if (all.length > MOST_REDIRECT_URIS)
    throw new UnusableDocument(`it has over ${MOST_REDIRECT_URIS} redirect_uris`);
  return usable;
}

function isUsable(uri: string): boolean {
  if (uri.length > LONGEST_URI || !isRedirectUri(uri)) return false;
  return /^https:/i.test(uri) || (/^http:/i.test(uri) && isLoopbackUrl(uri));
}

function readKeys(content: Readonly<Record<string, unknown>>): { readonly keys?: KeySource } {
  const { token_endpoint_auth_method: method = 'none', jwks, jwks_uri: jwksUri } = content;
  if (method === 'none') return {};
  if (method !== 'private_key_jwt') {
    throw new UnusableDocument('its token_endpoint_auth_method is neither none nor private_key_jwt');
  }
  if (jwks !== undefined) return { keys: { jwks: readKeySet(jwks) } };
  if (typeof jwksUri === 'string' && jwksUri.length <= LONGEST_URI) return { keys: { jwksUri } };
  throw new UnusableDocument('private_key_jwt needs jwks or jwks_uri');
}
