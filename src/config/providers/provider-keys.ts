import * as parsers from '../settings/parsers.js';
import { allowedParams, authorizeParams } from './authorize-params.js';
import { claimsSetting } from './claim-paths.js';
import type { Setting } from '../settings/setting-row.js';
import { baseUrl, endpointUrl, isRedirectUri } from '../urls/urls.js';

/** The keys that a built-in adapter needs beside the credentials (contract §2, `adapter`). */
const REQUIRED: ReadonlyMap<string, readonly string[]> = new Map([
  ['contract', ['url']],
  ['oidc', ['url']],
  ['oauth2', ['authorize_url', 'token_url', 'userinfo_url']],
]);

/** Presets need only credentials; `provider/presets.ts` has their other settings (contract §6). */
export const PRESET_ADAPTERS = { github: 'oauth2', discord: 'oauth2', google: 'oidc' } as const;
export type PresetName = keyof typeof PRESET_ADAPTERS;

export const ADAPTERS: ReadonlySet<string> = new Set([...REQUIRED.keys(), ...Object.keys(PRESET_ADAPTERS)]);

/** Returns the keys that an adapter needs beside the credentials; a custom adapter needs none. */
export function requiredKeys(adapter: string): readonly string[] {
  return REQUIRED.get(adapter) ?? [];
}

/** Whether an adapter is `oidc`, or a preset of it. */
export function isOpenId(adapter: string): boolean {
  return adapter === 'oidc' || (PRESET_ADAPTERS as Record<string, string>)[adapter] === 'oidc';
}

export const ADAPTER_ACCEPTS = `${[...ADAPTERS].join(', ')}, a file that begins with ./ or /, or the name of an installed package`;

const PACKAGE = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

/** Checks only the form: the file or package is loaded later. */
const adapterName = parsers.parser(ADAPTER_ACCEPTS, (name) =>
  ADAPTERS.has(name) || /^\.?\/./.test(name) || PACKAGE.test(name) ? name : undefined,
);

/** The keys of `providers.<name>.<key>` that the service reads itself (spec §4.6; contract §2). */
export const providerKeys = {
  enabled: {
    name: 'enabled',
    parser: parsers.boolean,
    defaultShown: '`true` once `url` is set, or `client_id` for an adapter that needs no `url`',
    doc: 'Whether users may sign in with it.',
  },
  url: {
    name: 'url',
    parser: baseUrl,
    doc: 'Base address of the provider, for `oidc` its issuer, without query, fragment and user info; one trailing slash is dropped. In production `https:`, unless the host is loopback.',
  },
  clientId: {
    name: 'client_id',
    parser: parsers.text,
    doc: 'Client identifier agreed with the provider.',
  },
  clientSecret: {
    name: 'client_secret',
    parser: parsers.text,
    secret: true,
    doc: 'Client secret agreed with the provider; in production at least 16 characters.',
  },
  adapter: {
    name: 'adapter',
    parser: adapterName,
    default: 'contract',
    doc: "Protocol: `contract` (the two endpoints that the specification requires of a provider), `oidc` (any OpenID Connect provider), `oauth2` (a plain OAuth 2.0 provider), `github`, `discord`, `google` (these need nothing but credentials), or an integrator's own: a file that begins with `./` or `/`, or an installed package.",
  },
  redirectUris: {
    name: 'redirect_uris',
    parser: parsers.list('absolute http(s) URLs or URIs of a private scheme with a dot', isRedirectUri),
    defaultShown: '`REDIRECT_URIS`',
    doc: "The provider's own allow-list of redirect URIs, instead of `REDIRECT_URIS`.",
  },
  issuer: {
    name: 'issuer',
    parser: endpointUrl,
    defaultShown: 'what the adapter knows: `oidc`, `github`, `discord` and `google` do',
    doc: 'Expected `iss` of the callback (RFC 9207), byte for byte. If it is unknown, a callback with `iss` is refused.',
  },
  mode: {
    name: 'mode',
    parser: parsers.oneOf('iframe', 'popup', 'redirect'),
    defaultShown: '`iframe` for `contract`, `popup` for all others',
    doc: 'How an application should show the page: `iframe`, `popup` or `redirect`. Part of `GET /oauth2/providers`.',
  },
  label: {
    name: 'label',
    parser: parsers.text,
    defaultShown: '`GitHub`, `Discord` or `Google` for these adapters, else the name',
    doc: 'Name on a sign-in button. Part of `GET /oauth2/providers`.',
  },
} as const satisfies Record<string, Setting<unknown>>;

/** The keys of `providers.<name>.<key>` that the adapters `oidc` and `oauth2` read, as options (contract §2). */
export const adapterKeys = {
  scope: {
    name: 'scope',
    parser: parsers.text,
    defaultShown: '`openid profile email` for `oidc`',
    doc: '`oidc`, `oauth2`: requested scope.',
  },
  userId: {
    name: 'claim_user_id',
    parser: parsers.text,
    defaultShown: '`sub`',
    doc: '`oidc`, `oauth2`: claim of the user id, as a dotted path. Of several paths, separated by commas, the first that exists is used, here and below.',
  },
  username: {
    name: 'claim_username',
    parser: parsers.text,
    defaultShown: '`preferred_username,name`',
    doc: '`oidc`, `oauth2`: claim of the display name, or a template (`{given_name} {family_name}`).',
  },
  email: {
    name: 'claim_email',
    parser: parsers.text,
    defaultShown: '`email`',
    doc: '`oidc`, `oauth2`: claim of the e-mail address.',
  },
  avatarUrl: {
    name: 'claim_avatar_url',
    parser: parsers.text,
    defaultShown: '`picture`',
    doc: '`oidc`, `oauth2`: claim of the avatar URL, or a template (`https://img.example/{id}/{hash}.png`).',
  },
  claims: {
    name: 'claims',
    parser: claimsSetting,
    doc: 'Claims of the provider that users keep, as `<name>=<path>` pairs separated by commas: `roles=realm_access.roles,groups=groups`. `roles`, `groups` and `entitlements` are lists of texts. A claim beyond 100 names or 4 KiB of JSON in all is dropped, with a warning.',
  },
  authorizeParams: {
    name: 'authorize_params',
    parser: authorizeParams,
    doc: '`oidc`, `oauth2`: static parameters of the authorization page, as a query string: `prompt=select_account&domain_hint=corp.example`. A parameter of a single sign-in replaces them.',
  },
  allowedParams: {
    name: 'allowed_params',
    parser: allowedParams,
    doc: '`oidc`, `oauth2`: names of parameters that a client may set for a single sign-in, besides `login_hint`, `prompt`, `max_age`, `acr_values`, `ui_locales`, `claims_locales`, `domain_hint` and `hd`.',
  },
  authorizeUrl: {
    name: 'authorize_url',
    parser: endpointUrl,
    doc: '`oauth2`: the authorization page. In production `https:`, unless the host is loopback, here and below.',
  },
  tokenUrl: {
    name: 'token_url',
    parser: endpointUrl,
    doc: '`oauth2`: the token endpoint.',
  },
  userinfoUrl: {
    name: 'userinfo_url',
    parser: endpointUrl,
    doc: '`oauth2`: the endpoint that returns the user of an access token.',
  },
  tokenEndpointAuthMethod: {
    name: 'token_endpoint_auth_method',
    parser: parsers.oneOf('client_secret_basic', 'client_secret_post'),
    defaultShown:
      '`client_secret_post` if the discovery document lists it, else `client_secret_basic`; for `oauth2` `client_secret_post`',
    doc: '`oidc`, `oauth2`: how the client secret is sent, in a header or in the form.',
  },
  pkce: {
    name: 'pkce',
    parser: parsers.onOff,
    defaultShown: '`off` for `contract`, `on` for `oidc` and `oauth2`',
    doc: '`contract`, `oidc`, `oauth2`: whether a code is bound to its sign-in by a challenge (RFC 7636) between the service and the provider. `off` only for a provider that refuses `code_challenge` or `code_verifier`.',
  },
  keepIdToken: {
    name: 'keep_id_token',
    parser: parsers.onOff,
    defaultShown: '`on` if the discovery document has `end_session_endpoint`',
    doc: '`oidc`: whether the ID token is kept, encrypted, until the session ends. With it (`id_token_hint`) the provider can sign the user out without a question.',
  },
  nonce: {
    name: 'nonce',
    parser: parsers.onOff,
    defaultShown: '`on` for `oidc`',
    doc: '`oidc`: whether the ID token must have the nonce of its sign-in. `off` only for a provider that omits it.',
  },
} as const satisfies Record<string, Setting<unknown>>;
