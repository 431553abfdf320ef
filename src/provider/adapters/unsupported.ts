import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import { findCall } from '../transport/provider-answer.js';
import { isSafe, isSafeForBrowsers } from './addresses.js';
import { usesPkce } from './authorization-request.js';
import type { Metadata } from './used-members.js';

type Options = ProviderSettings['options'];

/**
 * Unsupported behaviour of OpenID providers (docs/providers.md#not-supported): finding and advice. A test
 * compares docs/providers.md with it.
 */
export const UNSUPPORTED = {
  issuer: [
    'its discovery document names another issuer',
    'its public address; or here, url of the provider to the issuer that it names, or issuer if url is an inner address',
  ],
  addresses: [
    'its discovery document lacks a usable address',
    'its public address, so that all its addresses are https if the issuer is',
  ],
  codeFlow: [
    'it does not offer the authorization code flow',
    'response type code (grant type authorization_code): on',
  ],
  publicClients: [
    'it takes public clients only',
    'client authentication: on, with a client secret; or here, token_endpoint_auth_method of the provider to none',
  ],
  clientKeys: [
    'it takes no client secret at its token endpoint',
    'client authentication to client_secret_basic or client_secret_post; or here, client_key of the provider',
  ],
  pushedRequests: [
    'it demands pushed authorization requests, and par is off',
    'pushed authorization requests (PAR): not required; or here, par of the provider to auto',
  ],
  pushedAddress: [
    'it has no address for pushed authorization requests',
    'pushed authorization requests (PAR): on; or here, par of the provider to off',
  ],
  requestObjects: ['it demands signed request objects', 'request objects (JAR): not required'],
  pkceMethod: [
    'it lists methods of PKCE without S256',
    'PKCE code challenge method: S256; or here, pkce of the provider to off',
  ],
  idTokenSignature: [
    'it signs ID tokens in a way that cannot be verified with a public key of its jwks_uri',
    'ID token signature algorithm: RS256 or ES256',
  ],
  idTokenEncryption: ['it encrypts ID tokens', 'ID token encryption: off'],
  userinfoSignature: [
    'it signs userinfo in a way that cannot be verified with a public key of its jwks_uri',
    'userinfo signature algorithm: none, RS256 or ES256',
  ],
  userinfoEncryption: ['it encrypts userinfo', 'userinfo encryption: off'],
} as const;

/** @param seen for the log: no secret, no long text */
export function advice(kind: keyof typeof UNSUPPORTED, seen: string): string {
  const [found, change] = UNSUPPORTED[kind];
  return `${found} (${seen}), which is not supported; change at the provider: ${change}`;
}

/** No sign-in works at the provider until its operator changes these settings. */
export class Unsupported extends AggregateError {
  override readonly name = 'Unsupported';
  readonly call = findCall(this.errors[0]);

  constructor(provider: string, errors: readonly Error[]) {
    super(errors, `provider ${provider} cannot be used: ${errors.map(({ message }) => message).join(' — ')}`);
  }
}

/** Algorithms of public keys (RFC 8725 §3.1: neither `none` nor a MAC with the client secret). @public */
export const ASYMMETRIC = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/;
const NEVER = /^$/;
const chosenHere = (options: Options): boolean => options['token_endpoint_auth_method'] !== undefined;
const mayPush = ({ par }: Options): boolean => par !== 'off';
const withoutPkce = (options: Options): boolean => !usesPkce(options, 'on');

/** Whether the parameters are sent to the provider first (RFC 9126). */
export function usesPar({ par = 'auto' }: Options, metadata: Metadata): boolean {
  return par === 'on' || (par === 'auto' && metadata.require_pushed_authorization_requests === true);
}

type Rule = readonly [keyof typeof UNSUPPORTED, string, RegExp, isLifted?: (options: Options) => boolean];

/**
 * One value of each list must match. `response_modes_supported` is not checked: Slack lists only form_post
 * and sends a query.
 */
const RULES: readonly Rule[] = [
  ['codeFlow', 'response_types_supported', /^code$/],
  ['codeFlow', 'grant_types_supported', /^authorization_code$/],
  ['publicClients', 'token_endpoint_auth_methods_supported', /^(?!none$)/, chosenHere],
  ['clientKeys', 'token_endpoint_auth_methods_supported', /^client_secret_(?:basic|post)$/, chosenHere],
  ['pushedRequests', 'require_pushed_authorization_requests', NEVER, mayPush], // RFC 9126 §5
  ['requestObjects', 'require_signed_request_object', NEVER], // RFC 9101 §10.5
  ['pkceMethod', 'code_challenge_methods_supported', /^S256$/, withoutPkce],
  ['idTokenSignature', 'id_token_signing_alg_values_supported', ASYMMETRIC],
];

/**
 * Returns an error for each member of `usedMetadata` with which no sign-in works. Absent members are no
 * finding.
 */
export function unsupportedIn(
  metadata: Metadata,
  provider: Pick<ProviderSettings, 'url' | 'options'>,
): Error[] {
  const members = metadata as Readonly<Record<string, unknown>>;
  const { options } = provider;
  const { issuer } = metadata;
  const isUsable = (name: string): boolean => isSafe(String(members[name]), provider, issuer);
  const addresses = ['token_endpoint', 'jwks_uri'].filter((name) => !isUsable(name));
  if (!isSafeForBrowsers(String(members['authorization_endpoint']), issuer)) {
    addresses.unshift('authorization_endpoint');
  }
  const found = RULES.filter(([, name, needed, isLifted]) => {
    const isThere = members[name] !== undefined && !isLifted?.(options);
    return isThere && !valuesOf(members, name).some((value) => needed.test(value));
  }).map(([kind, name]) => advice(kind, `${name}: ${listNames(valuesOf(members, name))}`));
  if (usesPar(options, metadata) && !isUsable('pushed_authorization_request_endpoint')) {
    found.push(advice('pushedAddress', 'pushed_authorization_request_endpoint'));
  }
  if (addresses.length > 0) found.unshift(advice('addresses', addresses.join(', ')));
  return found.map((line) => new Error(line));
}

function valuesOf(members: Readonly<Record<string, unknown>>, name: string): string[] {
  return [members[name]].flat().map(String);
}

/** Values of the provider are logged only if they are names. */
export function listNames(values: readonly string[]): string {
  const names = values.filter((value) => /^[\w -]{1,40}$/.test(value)).slice(0, 10);
  return names.join(', ') || 'no known name';
}
