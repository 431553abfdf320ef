import type { ProviderSettings } from '../config/providers/provider-settings.js';

export type { ProviderSettings };

/**
 * How Latchkey speaks to one kind of identity provider. The default, `contract`, is spec §4.5; other adapters are for
 * "supporting different provider paths" (spec §4.6). An adapter keeps nothing of a sign-in itself, since another
 * instance may get the code: what it must remember between the two calls goes into `memory`. Each call has 5 s.
 * Nor does it keep `provider.clientSecret`: each call is given the one that holds then.
 */
export interface ProviderAdapter {
  /**
   * The address of the provider's authorization page (spec §4.2 `redirect_url`, §4.5.1).
   * @returns a URL, or `{url, memory}`: `memory` is kept with the state and comes back at `exchange`.
   */
  authorizationUrl(provider: ProviderSettings, request: AuthorizationRequest): MaybePromise<AuthorizationUrl>;

  /**
   * Redeems an authorization code for the user's identity (spec §4.5.2).
   * @returns the identity with the field names of spec §2.5; the service judges it itself.
   * @throws an error whose `error` is a code of spec §7.3 (`invalid_grant`, …) when the provider refused;
   *   any other error means that it could not be asked or broke its contract.
   */
  exchange(provider: ProviderSettings, request: ExchangeRequest): Promise<ProviderIdentity>;

  /**
   * May be left out: what `iss` in the callback must be (RFC 9207). The service compares it, as an exact string, before
   * it calls `exchange`. It is called only where a callback has an `iss`.
   * @returns the issuer; or `undefined`, as if the method were not there: then the setting `issuer` counts, and
   *   without that a callback with an `iss` is refused (RFC 9700 §4.4).
   *
   * Or the word `'own'` in place of the method: `exchange` compares `request.iss` itself, before the code goes anywhere.
   */
  readonly issuer?: 'own' | ((provider: ProviderSettings) => MaybePromise<string | undefined>);

  /**
   * May be left out: looks at the settings once, before the service starts.
   * @throws an error whose `error` is `invalid_request` or `invalid_client` when the settings cannot work: the service
   *   does not start. Any other error, or no answer within 5 s, is a warning in the log: a provider that is away for a
   *   moment must not keep the service from starting.
   */
  readonly check?: (provider: ProviderSettings) => MaybePromise<void>;
}

type MaybePromise<T> = T | Promise<T>;

export interface AuthorizationRequest {
  /** 64 hex characters, to be echoed back unchanged. */
  readonly state: string;
  /** Where the provider sends the user afterwards; on the provider's allow-list already. */
  readonly redirectUri: string;
}

/** A small JSON object of the adapter's own: a PKCE verifier, a nonce. */
export type AdapterMemory = Record<string, unknown>;

export type AuthorizationUrl = URL | { readonly url: URL; readonly memory: AdapterMemory };

export interface ExchangeRequest {
  readonly code: string;
  readonly state: string;
  /** The one of the authorization request. */
  readonly redirectUri: string;
  /** `iss` of the callback, where the client passed it on (RFC 9207); compared already, unless `issuer` is `'own'`. */
  readonly iss?: string;
  readonly memory?: AdapterMemory;
  /** Aborts when the provider's time is over. */
  readonly signal: AbortSignal;
}

/** The fields of spec §2.5, whether the e-mail address is verified, and by what the provider may end the session. */
export interface ProviderIdentity {
  provider_user_id: string;
  username?: string;
  email?: string;
  /** False: the provider calls the address unverified, so it is dropped (contract §6). */
  email_verified?: boolean;
  avatar_url?: string;
  /**
   * What the provider calls the user, and the user's session with it, in its logout tokens (contract §6): the claims `sub` and
   * `sid` of an ID token. 1 to 255 characters, else dropped. Kept, as hashes, where it can send such tokens: adapter `oidc`.
   */
  subject?: string;
  session?: string;
}
