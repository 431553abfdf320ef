import type { ProviderSettings } from '../platform/config/providers/provider-settings.js';

export type { ProviderSettings };

/**
 * Speaks to one kind of identity provider; `latchkey/adapter` exports these types. The default, `contract`,
 * is spec §4.5; other adapters are for "supporting different provider paths" (spec §4.6). An adapter stores
 * nothing of a sign-in, since another instance may receive the code: use `memory`. It does not keep
 * `provider.clientSecret` either: each call passes the current one.
 */
export interface ProviderAdapter {
  /**
   * Returns the address of the provider's authorization page (spec §4.2 `redirect_url`, §4.5.1), within 5 s.
   * @returns a URL, or `{url, memory}`: `memory` is stored with the state and passed to `exchange`
   */
  authorizationUrl(provider: ProviderSettings, request: AuthorizationRequest): MaybePromise<AuthorizationUrl>;

  /**
   * Redeems an authorization code for the user's identity (spec §4.5.2), within 5 s.
   * @returns the identity with the field names of spec §2.5; the service validates it
   * @throws an error with a code of spec §7.3 as its `error` (`invalid_grant`, …) if the provider refused;
   *   any other error means that the provider is away or broke its contract
   */
  exchange(provider: ProviderSettings, request: ExchangeRequest): Promise<ProviderIdentity>;

  /**
   * Optional: returns the expected `iss` of the callback (RFC 9207). The service compares it byte for byte
   * before it calls `exchange`, if the callback has an `iss`. With `undefined` the setting `issuer` counts;
   * without both, the callback is refused (RFC 9700 §4.4).
   *
   * `'own'` instead of a method: `exchange` itself compares `request.iss` before it sends the code.
   */
  readonly issuer?: 'own' | ((provider: ProviderSettings) => MaybePromise<string | undefined>);

  /**
   * Optional: checks the settings once, before the service starts.
   * @throws an error with `invalid_request` or `invalid_client` as its `error`, to prevent the start. Any
   *   other error, or no answer within 5 s, is a warning: a provider that is away for a moment must not
   *   prevent the start
   */
  readonly check?: (provider: ProviderSettings) => MaybePromise<void>;
}

type MaybePromise<T> = T | Promise<T>;

export interface AuthorizationRequest {
  /** 64 hex characters, to be echoed unchanged. */
  readonly state: string;
  /** On the provider's allow-list already. */
  readonly redirectUri: string;
  /** Parameters for the provider's page that the client set for this sign-in: `login_hint`, `prompt`, … */
  readonly params?: Readonly<Record<string, string>>;
}

/** Small JSON object of the adapter: a PKCE verifier, a nonce. */
export type AdapterMemory = Record<string, unknown>;

export type AuthorizationUrl = URL | { readonly url: URL; readonly memory: AdapterMemory };

export interface ExchangeRequest {
  readonly code: string;
  readonly state: string;
  /** As in the authorization request. */
  readonly redirectUri: string;
  /** `iss` of the callback, if the client passed it on (RFC 9207); compared, unless `issuer` is `'own'`. */
  readonly iss?: string;
  readonly memory?: AdapterMemory;
  /** `check-provider`: receives what the provider sent about the user, before anything is selected. */
  readonly received?: (answer: Readonly<Record<string, unknown>>) => void;
  /** Aborts after 5 s. */
  readonly signal: AbortSignal;
}

/** For further requests about the user whose code was redeemed. */
export interface UserRequest {
  /** The provider's access token, if it sent one. */
  readonly accessToken?: string;
  /** Aborts after 5 s. */
  readonly signal: AbortSignal;
}

/** Identity with the fields of spec §2.5. */
export interface ProviderIdentity {
  provider_user_id: string;
  username?: string;
  email?: string;
  /**
   * `false`: the provider calls the address unverified, so it is dropped
   * (docs/provider-adapter.md#write-an-adapter). `true`: it counts for the setting `allow`.
   */
  email_verified?: boolean;
  /** Google: the claim `hd`; null if it is absent. */
  hosted_domain?: string | null;
  avatar_url?: string;
  /** `sub` and `sid` of the ID token, by which logout tokens name user and session; adapter `oidc` only. */
  subject?: string;
  session?: string;
  /**
   * When the user authenticated, in seconds since the epoch, and how: `auth_time`, `acr` and `amr` of the ID
   * token (docs/guides/step-up.md#from-the-provider). Not of the adapters `contract` and `oauth2`.
   */
  auth_time?: number;
  acr?: string;
  amr?: string[];
  /** ID token to keep, encrypted, for `id_token_hint`; adapter `oidc` only. */
  id_token?: string;
  /**
   * When the session at the provider ends, in seconds since the epoch: tokens are not valid longer. Another
   * type than an integer is a `server_error`.
   */
  session_expiry?: number;
  /** Refresh token of the provider, with `offline` of its settings; adapter `oidc` only. */
  refresh_token?: string;
  /**
   * Claims of the user: `roles`, `groups`, `entitlements` (lists of texts), or any other name with any JSON.
   * At most 100 names of 64 characters and 4 KiB of JSON in all. Kept are those that the setting `claims` of
   * the provider names, within docs/guides/roles.md#limits.
   */
  claims?: Record<string, unknown>;
}
