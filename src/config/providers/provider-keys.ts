import * as parsers from '../settings/parsers.js';
import { allowRule } from './allow-rule.js';
import { claimMap } from './claim-map.js';
import { claimsSetting, idPath } from './claim-paths.js';
import { clientKeyText } from './client-key.js';
import { PRESETS } from './presets.js';
import type { SettingRow } from '../settings/setting-row.js';
import { baseUrl, endpointUrl, isRedirectUri } from '../urls/urls.js';

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

/** Defaults of `recheck_grace` and `recheck_rate`. */
export const RECHECK_GRACE = 86_400;
export const RECHECK_RATE = 20;

const PRODUCTS = [...PRESETS.keys()].map((name) => `\`${name}\``).join(', ');

const PACKAGE = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

const TENANT = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Parameters of the flow itself (RFC 6749 §4.1; RFC 7636; RFC 9101; OpenID Connect Core §3.1.2.1): neither
 * setting nor client adds one.
 */
const OF_THE_FLOW: ReadonlySet<string> = new Set(
  `response_type response_mode client_id client_secret client_assertion client_assertion_type redirect_uri state scope nonce code
  code_challenge code_challenge_method code_verifier request request_uri provider iss error`.split(/\s+/),
);

const EMAIL_DOMAIN = /^[^\s@.*]+(?:\.[^\s@.*]+)*$/;

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

const scimTokens = parsers.parser(
  'one or two texts of at least 32 characters without spaces, separated by a comma',
  (text) => {
    const tokens = text.split(',').map((token) => token.trim());
    return tokens.length <= 2 && tokens.every((token) => /^[\w.~+/=-]{32,512}$/.test(token))
      ? tokens
      : undefined;
  },
);

/** Events that end sessions (docs/signals.md#effects). */
const ENDING = [
  'session-revoked',
  'credential-change',
  'assurance-level-change',
  'device-compliance-change',
  'account-disabled',
  'account-purged',
  'account-credential-change-required',
  'credential-compromise',
  'sessions-revoked',
] as const;

export type EndingEvent = (typeof ENDING)[number];

const isEnding = (name: string): name is EndingEvent => ENDING.some((one) => one === name);

const endingEvents = parsers.list(ENDING.join(', '), isEnding);

/** Checks only the form: the file or package is loaded later. */
const adapterName = parsers.parser(ADAPTER_ACCEPTS, (name) =>
  ADAPTERS.has(name) || /^\.?\/./.test(name) || PACKAGE.test(name) ? name : undefined,
);

/** The keys of `providers.<name>.<key>` that the service reads itself (spec §4.6). */
export const providerKeys = {
  enabled: {
    parser: parsers.boolean,
    defaultShown: '`true` once `url` is set, or `client_id` for an adapter that needs no `url`',
    doc: 'Whether users may sign in with it.',
  },
  url: {
    parser: baseUrl,
    doc: 'Base address of the provider, for `oidc` its issuer (unless `issuer` names it), without query, fragment and user info; one trailing slash is dropped. In production `https:`, unless the host is loopback.',
  },
  client_id: { parser: parsers.text, doc: 'Client identifier agreed with the provider.' },
  client_secret: {
    parser: parsers.text,
    secret: true,
    doc: 'Client secret agreed with the provider; in production at least 16 characters.',
  },
  client_key: {
    parser: clientKeyText,
    secret: true,
    doc: '`oidc`, `oauth2`: private key of the client, instead of a client secret (`private_key_jwt`, RFC 7523), in PEM or as a JWK; for `apple` the key that makes the client secret. A certificate in the PEM adds its thumbprint to the assertion (Entra ID).',
  },
  adapter: {
    parser: adapterName,
    default: 'contract',
    doc: `Protocol: \`contract\` (docs/provider-contract.md), \`oidc\` (any OpenID Connect provider), \`oauth2\` (a plain OAuth 2.0 provider), a product (${PRODUCTS}), or an integrator's own: a file that begins with \`./\` or \`/\`, or an installed package.`,
  },
  redirect_uris: {
    parser: parsers.list('absolute http(s) URLs or URIs of a private scheme with a dot', isRedirectUri),
    defaultShown: '`REDIRECT_URIS`',
    doc: "The provider's own allow-list of redirect URIs, instead of `REDIRECT_URIS`.",
  },
  issuer: {
    parser: endpointUrl,
    defaultShown: 'what the adapter knows: all but `contract`, `oauth2` and `facebook` do',
    doc: 'Expected `iss` of the callback (RFC 9207), byte for byte. If it is unknown, a callback with `iss` is refused. `oidc`: the issuer that tokens and discovery document name, if `url` is only the address that the service asks (docs/providers.md#a-public-name-and-an-inner-address).',
  },
  auth_time: {
    parser: parsers.oneOf('provider', 'sign_in'),
    default: 'provider',
    doc: '`sign_in`: if the provider reports no `auth_time`, the time of the sign-in is taken. Only for a provider that asks for the password each time.',
  },
  mode: {
    parser: parsers.oneOf('iframe', 'popup', 'redirect'),
    defaultShown: '`iframe` for `contract`, `popup` for all others',
    doc: 'How an application should show the page: `iframe`, `popup` or `redirect`. Part of `GET /oauth2/providers`.',
  },
  label: {
    parser: parsers.text,
    defaultShown: 'the name of the product (`GitHub`), else the name',
    doc: 'Name on a sign-in button. Part of `GET /oauth2/providers`.',
  },
  allow: {
    parser: allowRule,
    defaultShown: 'everyone whom the provider sends',
    doc: 'Who may sign in: conditions separated by commas, of which one must hold (docs/guides/access-policy.md).',
  },
  email_domains: {
    parser: parsers.list('domains (corp.example)', (domain) => EMAIL_DOMAIN.test(domain)),
    doc: 'Domains of the users whom this provider serves, for the choice of a provider by e-mail address (docs/guides/access-policy.md#which-provider). Admits and refuses nobody.',
  },
  email_trusted: {
    parser: parsers.onOff,
    defaultShown: '`on` for `contract`, else `off`',
    doc: 'Whether e-mail addresses count for `allow` although the provider does not call them verified.',
  },
  scim_token: {
    parser: scimTokens,
    secret: true,
    doc: 'Enables SCIM for this provider (docs/directory.md): the token of its directory, at least 32 characters; two, separated by a comma, while it is replaced.',
  },
  scim_attribute: {
    parser: parsers.oneOf('externalId', 'userName'),
    default: 'externalId',
    doc: 'Which attribute of a directory user is compared with `scim_claim`, byte for byte.',
  },
  scim_claim: {
    parser: parsers.text,
    defaultShown: 'the user id; `oid` for `microsoft`',
    doc: 'Which claim of a sign-in names the user in the directory: `provider_user_id`, a path in the ID token or userinfo (`oidc`, `oauth2`), or a claim of `claims`.',
  },
  signals: {
    parser: parsers.onOff,
    default: 'off',
    doc: '`oidc`: whether the provider may end sessions by Shared Signals and global token revocation (docs/signals.md).',
  },
  signals_issuer: {
    parser: endpointUrl,
    defaultShown: "the provider's issuer",
    doc: 'With `signals`: issuer of the transmitter of security events, if it is another one. In production `https:`, unless the host is loopback.',
  },
  signals_audience: {
    parser: parsers.text,
    defaultShown: 'only `PUBLIC_URL`',
    doc: 'With `signals`: a further audience (`aud`) of accepted security events.',
  },
  signals_end: {
    parser: endingEvents,
    defaultShown: 'all that can',
    doc: `With \`signals\`: which events end sessions, separated by commas: ${ENDING.map((one) => `\`${one}\``).join(', ')}.`,
  },
  recheck: {
    parser: parsers.integer(60, 2_592_000, 'seconds'),
    defaultShown: 'never',
    doc: '`oidc`: how often the provider is asked again while a session is in use, in seconds (docs/guides/recheck.md).',
  },
  recheck_grace: {
    parser: parsers.integer(60, 31_536_000, 'seconds'),
    defaultShown: `${RECHECK_GRACE}`,
    doc: '`oidc`, with `recheck`: seconds for which sessions go on while the provider does not answer.',
  },
  recheck_rate: {
    parser: parsers.integer(1, 1000, 'calls a second'),
    defaultShown: `${RECHECK_RATE}`,
    doc: '`oidc`, with `recheck`: calls a second of all instances, approximately.',
  },
} as const satisfies Record<string, SettingRow<unknown>>;

export const PROVIDER_SECRETS = Object.entries<SettingRow<unknown>>(providerKeys).flatMap(
  ([key, { secret }]) => (secret ? key : []),
);

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
    doc: '`oidc`, `oauth2`: claim of the user id: one dotted path (a dot in a name is `\\.`), or one template.',
  },
  claim_username: {
    parser: parsers.text,
    defaultShown: '`name,preferred_username`',
    doc: '`oidc`, `oauth2`: claim of the display name, or a template (`{given_name} {family_name}`). Of several paths, separated by commas, the first that exists is used, here and below.',
  },
  claim_email: {
    parser: parsers.text,
    defaultShown: '`email`',
    doc: '`oidc`, `oauth2`: claim of the e-mail address.',
  },
  claim_avatar_url: {
    parser: parsers.text,
    defaultShown: '`picture`',
    doc: '`oidc`, `oauth2`: claim of the avatar URL, or a template (`https://img.example/{id}/{hash}.png`).',
  },
  claims: {
    parser: claimsSetting,
    defaultShown: 'none is kept; `roles=claims.roles` for the built-in `mock`',
    doc: 'Claims of the provider that users keep, as `<name>=<path>` pairs separated by commas: `roles=realm_access.roles,groups=groups`. A path that ends with `[]` splits a text at commas, semicolons or spaces. For an adapter of your own, the names of the claims that it returns.',
  },
  'map_<claim>': {
    parser: claimMap,
    doc: 'For a claim of `claims` that is a list (`map_groups`, `map_roles`): `<value>=<name>` pairs separated by commas, percent-encoded. Only these values are kept, by their names; `*` as the last entry keeps the others as they are.',
  },
  authorize_params: {
    parser: authorizeParams,
    doc: '`oidc`, `oauth2`: static parameters of the authorization page, as a query string: `prompt=select_account&domain_hint=corp.example`. A parameter of a single sign-in replaces them. `max_age` and `acr_values` are required of the sign-in, as if the client had asked for them.',
  },
  allowed_params: {
    parser: parsers.list('names, without parameters of the flow (client_id, scope, state, …)', isParameter),
    doc: '`oidc`, `oauth2`: names of parameters that a client may set for a single sign-in, besides `login_hint`, `prompt`, `max_age`, `acr_values`, `ui_locales`, `claims_locales`, `domain_hint` and `hd`.',
  },
  authorize_url: {
    parser: endpointUrl,
    doc: '`oauth2`: the authorization page. In production `https:`, unless the host is loopback, here and below.',
  },
  token_url: { parser: endpointUrl, doc: '`oauth2`: the token endpoint.' },
  userinfo_url: {
    parser: endpointUrl,
    doc: '`oauth2`: the endpoint that returns the user of an access token.',
  },
  token_endpoint_auth_method: {
    parser: parsers.oneOf('client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'),
    defaultShown:
      '`private_key_jwt` with `client_key`; else `client_secret_post` if the discovery document lists it, else `client_secret_basic`; for `oauth2` `client_secret_post`',
    doc: '`oidc`, `oauth2`: how the client authenticates: by its secret, in a header or in the form, by an assertion signed with `client_key`, or not at all.',
  },
  client_key_id: {
    parser: parsers.text,
    defaultShown: '`kid` of the JWK',
    doc: '`oidc`, `oauth2`: id of `client_key` at the provider (`kid`).',
  },
  client_assertion_audience: {
    parser: parsers.oneOf('issuer', 'token_endpoint'),
    defaultShown: '`issuer`; `token_endpoint` for `microsoft`',
    doc: '`oidc`, `oauth2`: audience of the assertion that `client_key` signs.',
  },
  team_id: {
    parser: parsers.parser('a team id of 10 letters and digits', (text) =>
      /^[A-Z0-9]{10}$/.test(text) ? text : undefined,
    ),
    doc: '`apple`: team id of the Apple developer account.',
  },
  tenants: {
    parser: parsers.list('tenant ids (GUIDs)', (id) => TENANT.test(id)),
    doc: '`microsoft`: ids of the tenants with users that may sign in, separated by commas. One tenant needs no `url`; an issuer of many tenants needs this list.',
  },
  par: {
    parser: parsers.oneOf('auto', 'on', 'off'),
    defaultShown: '`auto`',
    doc: '`oidc`: whether the parameters of the authorization page are sent to the provider first (pushed authorization requests, RFC 9126). `auto`: if the discovery document requires it.',
  },
  response_mode: {
    parser: parsers.oneOf('query', 'form_post'),
    defaultShown: '`query`; `form_post` for `apple`',
    doc: '`oidc`: `form_post` if the provider sends the code by POST. Its redirect URI is then always `<PUBLIC_URL>/providers/<name>/callback`.',
  },
  pkce: {
    parser: parsers.onOff,
    defaultShown: '`off` for `contract`, `on` for `oidc` and `oauth2`',
    doc: '`contract`, `oidc`, `oauth2`: whether a code is bound to its sign-in by a challenge (RFC 7636) between the service and the provider. `off` only for a provider that refuses `code_challenge` or `code_verifier`.',
  },
  keep_id_token: {
    parser: parsers.onOff,
    defaultShown: '`on` if the discovery document has `end_session_endpoint`',
    doc: '`oidc`: whether the ID token is kept, encrypted, until the session ends. With it (`id_token_hint`) the provider can sign the user out without a question.',
  },
  nonce: {
    parser: parsers.onOff,
    defaultShown: '`on` for `oidc`',
    doc: '`oidc`: whether the ID token must have the nonce of its sign-in. `off` only for a provider that omits it.',
  },
} as const satisfies Record<string, SettingRow<unknown>>;
