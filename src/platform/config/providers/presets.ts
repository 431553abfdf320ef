import type { Settings } from '../settings/settings.js';
import type { ProviderSettings } from './provider-settings.js';

/** Addresses and peculiarities of a product, without credentials (docs/providers.md#known-products). */
interface Preset {
  readonly adapter: 'oidc' | 'oauth2';
  readonly label: string;
  /** Keys that it needs beside the credentials. */
  readonly required?: readonly string[];
  readonly url?: string;
  readonly options: Readonly<Record<string, string>>;
  /** Expected `iss` of the callback (RFC 9207), if the adapter does not define it. */
  readonly issuer?: string;
  /** Whether it refuses a loopback callback (`check-provider`). Apple does, too, but it posts the code. */
  readonly isHttpsOnly?: true;
  /** Anyone in the world can have an account. */
  readonly isPublic?: true;
}

/** Tenant of personal Microsoft accounts; it is not among the tenants of `organizations`. */
const PERSONAL_ACCOUNTS = '9188040d-6c67-4c5b-b112-36a304b66dad';

/** Option of `microsoft`: e-mail addresses are in doubt (identity/claims.ts), also without `tenants`. */
export const TENANTS_DECIDE = 'tenants_decide';

/** Option of `google`: `hd` proves an address's company (docs/guides/access-policy.md#e-mail-addresses). */
export const HOSTED_DOMAIN = 'hosted_domain';

/**
 * Option: how a refresh token is asked for. Google has a special parameter. Keycloak's usual one follows its
 * single sign-on session; that of `offline_access` does not. Others: the scope `offline_access`.
 */
export const OFFLINE = 'offline';

/** Seconds: `max_age` of usual sign-ins, so that ID tokens have `auth_time` (docs/guides/step-up.md). */
const A_YEAR = '31536000';

const PRODUCTS: Readonly<Record<string, Preset>> = {
  // https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
  github: {
    label: 'GitHub',
    isPublic: true,
    adapter: 'oauth2',
    options: {
      authorize_url: 'https://github.com/login/oauth/authorize',
      token_url: 'https://github.com/login/oauth/access_token',
      userinfo_url: 'https://api.github.com/user',
      scope: 'read:user',
      claim_user_id: 'id',
      claim_username: 'name,login',
      claim_avatar_url: 'avatar_url',
    },
    issuer: 'https://github.com/login/oauth',
  },
  // https://docs.discord.com/developers/topics/oauth2
  discord: {
    label: 'Discord',
    isPublic: true,
    adapter: 'oauth2',
    options: {
      authorize_url: 'https://discord.com/oauth2/authorize',
      token_url: 'https://discord.com/api/oauth2/token',
      userinfo_url: 'https://discord.com/api/users/@me',
      scope: 'identify email',
      claim_user_id: 'id',
      claim_username: 'global_name,username',
      claim_avatar_url: 'https://cdn.discordapp.com/avatars/{id}/{avatar}.png',
    },
    issuer: 'https://discord.com',
  },
  // https://developers.google.com/identity/openid-connect/openid-connect
  google: {
    label: 'Google',
    isPublic: true,
    adapter: 'oidc',
    url: 'https://accounts.google.com',
    options: { [HOSTED_DOMAIN]: 'on', [OFFLINE]: 'access_type' },
  },
  // https://learn.microsoft.com/entra/identity-platform/certificate-credentials (aud). Its picture needs an
  // access token.
  microsoft: {
    label: 'Microsoft',
    adapter: 'oidc',
    options: { client_assertion_audience: 'token_endpoint', claim_avatar_url: '', [TENANTS_DECIDE]: 'on' },
  },
  // https://developer.okta.com/docs/reference/api/oidc/
  okta: { label: 'Okta', adapter: 'oidc', required: ['url'], options: { usual_max_age: A_YEAR } },
  // https://auth0.com/docs/get-started/applications/configure-applications-with-oidc-discovery
  // https://auth0.com/docs/authenticate/login/max-age-reauthentication (auth_time)
  auth0: { label: 'Auth0', adapter: 'oidc', required: ['url'], options: { usual_max_age: A_YEAR } },
  // https://www.keycloak.org/securing-apps/oidc-layers
  keycloak: { label: 'Keycloak', adapter: 'oidc', required: ['url'], options: { [OFFLINE]: 'no' } },
  // https://docs.gitlab.com/integration/openid_connect_provider/
  gitlab: { label: 'GitLab', isPublic: true, adapter: 'oidc', url: 'https://gitlab.com', options: {} },
  // https://developer.apple.com/documentation/signinwithapple/configuring-your-webpage-for-sign-in-with-apple
  // (response_mode). No PKCE.
  apple: {
    label: 'Apple',
    isPublic: true,
    adapter: 'oidc',
    required: ['team_id', 'client_key'],
    url: 'https://appleid.apple.com',
    options: {
      scope: 'openid name email',
      response_mode: 'form_post',
      pkce: 'off',
      claim_username: '',
      claim_avatar_url: '',
    },
  },
  // https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2: neither
  // PKCE nor nonce
  linkedin: {
    label: 'LinkedIn',
    isPublic: true,
    adapter: 'oidc',
    url: 'https://www.linkedin.com/oauth',
    options: { pkce: 'off', nonce: 'off', token_endpoint_auth_method: 'client_secret_post' },
  },
  // https://docs.slack.dev/authentication/sign-in-with-slack: a nonce, no PKCE
  slack: {
    label: 'Slack',
    isPublic: true,
    adapter: 'oidc',
    url: 'https://slack.com',
    isHttpsOnly: true,
    options: { pkce: 'off', token_endpoint_auth_method: 'client_secret_post' },
  },
  // https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow
  facebook: {
    label: 'Facebook',
    isPublic: true,
    adapter: 'oauth2',
    isHttpsOnly: true,
    options: {
      authorize_url: 'https://www.facebook.com/v21.0/dialog/oauth',
      token_url: 'https://graph.facebook.com/v21.0/oauth/access_token',
      userinfo_url: 'https://graph.facebook.com/v21.0/me?fields=id,name,email,picture',
      scope: 'public_profile email',
      claim_user_id: 'id',
      claim_username: 'name',
      claim_avatar_url: 'picture.data.url',
    },
  },
};

export const PRESETS: ReadonlyMap<string, Preset> = new Map(Object.entries(PRODUCTS));

/** Completes settings from their preset, and replaces its name by its adapter; others stay unchanged. */
export function withPreset(provider: ProviderSettings): ProviderSettings {
  const preset = PRESETS.get(provider.adapter);
  if (!preset) return provider;
  const { adapter, options: usual } = preset;
  const options = { ...usual, ...provider.options };
  // For another server (GitHub Enterprise) the preset's issuer is foreign (RFC 9700 §4.4: mix-up).
  const isSameServer = ['authorize_url', 'token_url'].every(
    (key) => originOf(options[key]) === originOf(usual[key]),
  );
  return {
    ...provider,
    label: provider.label ?? preset.label,
    url: provider.url ?? preset.url ?? urlOfTenants(provider),
    issuer: provider.issuer ?? (isSameServer ? preset.issuer : undefined),
    adapter,
    options,
  };
}

/** Issuer of Microsoft for the allowed tenants: one of them has its own. */
function urlOfTenants({ adapter, options }: ProviderSettings): string | undefined {
  const tenants = options['tenants']?.split(',').map((id) => id.trim().toLowerCase());
  if (adapter !== 'microsoft' || !tenants) return undefined;
  const shared = tenants.includes(PERSONAL_ACCOUNTS) ? 'common' : 'organizations';
  return `https://login.microsoftonline.com/${tenants.length === 1 ? tenants[0] : shared}/v2.0`;
}

/** Whether anyone in the world can join: a public product, at its own address. */
export function isPublic(
  adapter: string,
  { url, authorizeUrl }: { url?: string | undefined; authorizeUrl?: string | undefined },
): boolean {
  const preset = PRESETS.get(adapter);
  const isElsewhere = (set: string | undefined, usual: string | undefined): boolean =>
    set !== undefined && originOf(set) !== originOf(usual);
  return (
    preset?.isPublic === true &&
    !isElsewhere(url, preset.url) &&
    !isElsewhere(authorizeUrl, preset.options['authorize_url'])
  );
}

/** Returns the name of the adapter behind a preset. */
export function protocolOf(adapter: string): string {
  return PRESETS.get(adapter)?.adapter ?? adapter;
}

export function isOpenId(adapter: string): boolean {
  return protocolOf(adapter) === 'oidc';
}

/** Names of the providers that can send logout tokens. */
export function openIdProviders({ providers }: Pick<Settings, 'providers'>): string[] {
  return [...providers.values()].filter(({ adapter }) => isOpenId(adapter)).map(({ name }) => name);
}

function originOf(url?: string): string | undefined {
  return url && new URL(url).origin;
}
