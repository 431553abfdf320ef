import * as parsers from '../settings/parsers.js';
import { allowRule, DOMAIN } from './allow-rule.js';
import { claimMap } from './claim-map.js';
import { claimsSetting, idPath } from './claim-paths.js';
import { clientKeyText } from './client-key.js';
import { PRESETS } from './presets.js';
import type { SettingRow } from '../settings/setting-row.js';
import { baseUrl, endpointUrl, isRedirectUri } from '../urls/urls.js';

/** A key of providers. */
export interface ProviderRow<T> extends SettingRow<T> {
  /** Protocols that have it; by default all, of adapterKeys `oidc` and `oauth2`. */
  readonly adapters?: readonly ('contract' | 'oidc' | 'oauth2')[];
  /** Key without which this one is refused. */
  readonly needs?: string;
  /** An address that is `https:` in production, unless the host is loopback. */
  readonly needsHttps?: true;
}

/** The keys that an adapter needs beside the credentials; `presets.ts` has the keys of presets. */
const REQUIRED: ReadonlyMap<string, readonly string[]> = new Map([
  ['contract', ['url']],
  ['oidc', ['url']],
  ['oauth2', ['authorize_url', 'token_url', 'userinfo_url']],
]);

export const ADAPTERS = new Set<string>([...REQUIRED.keys(), ...PRESETS.keys()]);

export function requiredKeys(adapter: string): readonly string[] {
  return REQUIRED.get(adapter) ?? PRESETS.get(adapter)?.required ?? [];
}

export const ADAPTER_ACCEPTS = `${[...ADAPTERS].join(', ')}, a file that begins with ./ or /, or the name of an installed package`;

const PRODUCTS = [...PRESETS.keys()].map((name) => `\`${name}\``).join(', ');

const PACKAGE = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

const TENANT = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Parameters of the flow (RFC 6749 §4.1, 7636, 9101; OpenID Connect Core §3.1.2.1): none may be added. */
const OF_THE_FLOW: ReadonlySet<string> = new Set(
  `response_type response_mode client_id client_secret client_assertion client_assertion_type redirect_uri state scope nonce code
  code_challenge code_challenge_method code_verifier request request_uri provider iss error`.split(/\s+/),
);

const isParameter = (name: string): boolean => /^[\w.:-]{1,64}$/.test(name) && !OF_THE_FLOW.has(name);

const authorizeParams = parsers.parser(
  'a query string (prompt=select_account&hd=corp.example), each name once, without parameters of the flow (client_id, scope, state, …)',
  (text) => {
    const names = [...new URLSearchParams(text).keys()];
    const isUnique = new Set(names).size === names.length;
    return !/^\?|[\p{C}\s]/u.test(text) && isUnique && names.length > 0 && names.every(isParameter)
      ? text
      : undefined;
  },
);

/** Checks only the form: the file or package is loaded later. */
const adapterName = parsers.parser(ADAPTER_ACCEPTS, (name) =>
  ADAPTERS.has(name) || /^\.?\/./.test(name) || PACKAGE.test(name) ? name : undefined,
);

/** Keys of `providers.<name>.<key>` that the service reads itself (spec §4.6), without features' keys. */
export const providerKeys = {
  enabled: {
    parser: parsers.boolean,
    defaultShown: '`true` once `url` is set, or `client_id` if the adapter needs no `url`',
    doc: 'Whether users may sign in with the provider.',
  },
  url: {
    needsHttps: true,
    parser: baseUrl,
    doc: 'Base address of the provider, for `oidc` its issuer (unless `issuer` names it), without query, fragment and user info.',
  },
  client_id: { parser: parsers.text, doc: 'Client identifier agreed with the provider.' },
  client_secret: {
    parser: parsers.text,
    secret: true,
    doc: 'Client secret agreed with the provider, in production at least 16 characters.',
  },
  client_key: {
    parser: clientKeyText,
    secret: true,
    doc: '`oidc`, `oauth2`: private key of the client, PEM or JWK, instead of a client secret (`private_key_jwt`, RFC 7523); `apple`: makes the client secret. A certificate in the PEM adds its thumbprint to the assertion (Entra ID).',
  },
  adapter: {
    parser: adapterName,
    default: 'contract',
    doc: `Protocol: \`contract\` (docs/provider-contract.md), \`oidc\` (OpenID Connect), \`oauth2\` (plain OAuth 2.0), a product (${PRODUCTS}), or your own: a file that begins with \`./\` or \`/\`, or an installed package (docs/provider-adapter.md).`,
  },
  redirect_uris: {
    parser: parsers.list('absolute http(s) URLs or URIs of a private scheme with a dot', isRedirectUri),
    defaultShown: '`REDIRECT_URIS`',
    doc: 'Redirect URIs of this provider, instead of `REDIRECT_URIS`.',
  },
  issuer: {
    needsHttps: true,
    parser: endpointUrl,
    defaultShown: 'known, except for `contract`, `oauth2` and `facebook`',
    doc: 'Expected `iss` of the callback (RFC 9207), byte for byte. If it is unknown, a callback with `iss` is refused. `oidc`: issuer in tokens and discovery document, if `url` is an inner address (docs/providers.md#a-public-name-and-an-inner-address).',
  },
  auth_time: {
    parser: parsers.oneOf('provider', 'sign_in'),
    default: 'provider',
    doc: '`sign_in`: without `auth_time` of the provider, the time of the sign-in counts. Only for a provider that asks for the password each time.',
  },
  mode: {
    parser: parsers.oneOf('iframe', 'popup', 'redirect'),
    defaultShown: '`iframe` for `contract`, `popup` for all others',
    doc: 'How applications show the page of the provider: `iframe`, `popup` or `redirect`.',
  },
  label: {
    parser: parsers.text,
    defaultShown: 'the name of the product (`GitHub`), else the name',
    doc: 'Name on a sign-in button.',
  },
  allow: {
    parser: allowRule,
    defaultShown: 'everyone whom the provider sends',
    doc: 'Who may sign in: comma-separated conditions, of which one must hold (docs/guides/access-policy.md).',
  },
  email_domains: {
    parser: parsers.list('domains (corp.example)', (domain) => DOMAIN.test(domain)),
    doc: 'Comma-separated domains, for the choice of a provider by e-mail address (docs/guides/access-policy.md#which-provider). Admits and refuses nobody.',
  },
  email_trusted: {
    parser: parsers.onOff,
    defaultShown: '`on` for `contract`, else `off`',
    doc: 'Whether e-mail addresses count for `allow` that the provider does not call verified.',
  },
} as const satisfies Record<string, ProviderRow<unknown>>;

/** The keys of `providers.<name>.<key>` that the adapters `oidc` and `oauth2` read, as options. */
export const adapterKeys = {
  scope: {
    parser: parsers.text,
    defaultShown: '`openid profile email` for `oidc`',
    doc: '`oidc`, `oauth2`: requested scope.',
  },
  claim_user_id: {
    parser: idPath,
    defaultShown: '`sub`',
    doc: '`oidc`, `oauth2`: claim of the user id: one path or template (docs/providers.md#paths-of-claims).',
  },
  claim_username: {
    parser: parsers.text,
    defaultShown: '`name,preferred_username`',
    doc: '`oidc`, `oauth2`: claim of the display name: comma-separated paths, of which the first that exists is used, or a template (`{given_name} {family_name}`).',
  },
  claim_email: {
    parser: parsers.text,
    defaultShown: '`email`',
    doc: '`oidc`, `oauth2`: claim of the e-mail address, as above.',
  },
  claim_avatar_url: {
    parser: parsers.text,
    defaultShown: '`picture`',
    doc: '`oidc`, `oauth2`: claim of the avatar URL, as above.',
  },
  claims: {
    adapters: ['contract', 'oidc', 'oauth2'],
    parser: claimsSetting,
    defaultShown: 'none; `roles=claims.roles` for `mock`',
    doc: 'Claims of the provider that users keep, as comma-separated `<name>=<path>`: `roles=realm_access.roles,groups=groups`. A final `[]` splits a text at commas, semicolons or spaces. For an adapter of your own, paths are the names of claims that it returns.',
  },
  'map_<claim>': {
    parser: claimMap,
    doc: 'For a list in `claims` (`map_groups`, `map_roles`): comma-separated `<value>=<name>`, percent-encoded. Only these values are kept, by their names; a final `*` keeps the others as they are.',
  },
  authorize_params: {
    parser: authorizeParams,
    doc: '`oidc`, `oauth2`: parameters of the authorization page, as a query string: `prompt=select_account&domain_hint=corp.example`. Parameters of a client replace them. `max_age` and `acr_values` are also required of the sign-in.',
  },
  allowed_params: {
    parser: parsers.list('names, without parameters of the flow (client_id, scope, state, …)', isParameter),
    doc: '`oidc`, `oauth2`: comma-separated parameters that a client may set, besides `login_hint`, `prompt`, `max_age`, `acr_values`, `ui_locales`, `claims_locales`, `domain_hint` and `hd`.',
  },
  authorize_url: {
    adapters: ['oauth2'],
    needsHttps: true,
    parser: endpointUrl,
    doc: '`oauth2`: the authorization page.',
  },
  token_url: {
    adapters: ['oauth2'],
    needsHttps: true,
    parser: endpointUrl,
    doc: '`oauth2`: the token endpoint.',
  },
  userinfo_url: {
    adapters: ['oauth2'],
    needsHttps: true,
    parser: endpointUrl,
    doc: '`oauth2`: endpoint that returns the user of an access token.',
  },
  token_endpoint_auth_method: {
    parser: parsers.oneOf('client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'),
    defaultShown:
      '`private_key_jwt` with `client_key`; else `client_secret_post`, for `oidc` only if the discovery document lists it, else `client_secret_basic`',
    doc: '`oidc`, `oauth2`: `client_secret_basic` (header), `client_secret_post` (form), `private_key_jwt` (`client_key`) or `none`.',
  },
  client_key_id: {
    parser: parsers.text,
    defaultShown: '`kid` of the JWK',
    doc: '`oidc`, `oauth2`: id of `client_key` at the provider.',
  },
  client_assertion_audience: {
    parser: parsers.oneOf('issuer', 'token_endpoint'),
    defaultShown: '`issuer`; `token_endpoint` for `microsoft`',
    doc: '`oidc`, `oauth2`: audience of the assertion of `client_key`: `issuer` or `token_endpoint`.',
  },
  team_id: {
    adapters: ['oidc'],
    parser: parsers.parser('a team id of 10 letters and digits', (text) =>
      /^[A-Z0-9]{10}$/.test(text) ? text : undefined,
    ),
    doc: '`apple`: team id of the developer account.',
  },
  tenants: {
    adapters: ['oidc'],
    parser: parsers.list('tenant ids (GUIDs)', (id) => TENANT.test(id)),
    doc: '`microsoft`: comma-separated ids of the tenants that may sign in, required for an issuer of many tenants. With one, `url` is not needed.',
  },
  par: {
    adapters: ['oidc'],
    parser: parsers.oneOf('auto', 'on', 'off'),
    defaultShown: '`auto`',
    doc: '`oidc`: pushed authorization requests (RFC 9126). `auto`: if the discovery document requires them.',
  },
  response_mode: {
    adapters: ['oidc'],
    parser: parsers.oneOf('query', 'form_post'),
    defaultShown: '`query`; `form_post` for `apple`',
    doc: '`oidc`: `form_post` if the provider sends the code by POST. The redirect URI is then `<PUBLIC_URL>/providers/<name>/callback`.',
  },
  pkce: {
    adapters: ['contract', 'oidc', 'oauth2'],
    parser: parsers.onOff,
    defaultShown: '`off` for `contract`, `on` for `oidc` and `oauth2`',
    doc: 'Whether a challenge between service and provider binds a code to its sign-in (RFC 7636). `off` only for a provider that refuses `code_challenge` or `code_verifier`.',
  },
  keep_id_token: {
    adapters: ['oidc'],
    parser: parsers.onOff,
    defaultShown: '`on` if the discovery document has `end_session_endpoint`',
    doc: '`oidc`: whether the ID token is kept, encrypted, until the session ends: with it the provider signs users out without a question.',
  },
  nonce: {
    adapters: ['contract', 'oidc'],
    parser: parsers.onOff,
    defaultShown: '`on` for `oidc`',
    doc: '`oidc`: whether the ID token must have the nonce of its sign-in. `off` only if the provider omits it.',
  },
} as const satisfies Record<string, ProviderRow<unknown>>;
