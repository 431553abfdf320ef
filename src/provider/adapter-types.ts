import type { ProviderAdapter, ProviderIdentity, ProviderSettings, UserRequest } from './provider-adapter.js';

// Types of `latchkey/adapter`, which need no other package. The values are in adapter.ts.

export type * from './provider-adapter.js';

type Claims = Readonly<Record<string, unknown>>;

/** A built-in adapter, for an integrator's own to extend. */
interface Extensible extends ProviderAdapter {
  /**
   * Makes the identity, with its `claims`, of what the provider sent about the user.
   * @throws an error with `error: 'invalid_grant'` to refuse the user
   */
  identityOf(
    provider: ProviderSettings,
    claims: Claims,
    request: UserRequest,
  ): ProviderIdentity | Promise<ProviderIdentity>;
}

/**
 * Adapter `oidc` with all its settings: discovery, PKCE, nonce, verification of the ID token.
 *
 * @example
 * export default new (class extends OidcAdapter {
 *   async identityOf(provider, claims, request) {
 *     return { ...(await super.identityOf(provider, claims, request)), claims: { roles: claims.groups } };
 *   }
 * })();
 */
export interface OidcAdapter extends Extensible {
  check(provider: ProviderSettings): Promise<void>;
  issuer(provider: ProviderSettings): Promise<string>;
  /** Whether the ID token's claims are enough; override it if `identityOf` needs claims of userinfo. */
  isComplete(provider: ProviderSettings, claims: Claims): boolean;
}
export declare const OidcAdapter: new () => OidcAdapter;

/** Adapter `oauth2` with all its settings. */
export type OAuth2Adapter = Extensible;
export declare const OAuth2Adapter: new () => OAuth2Adapter;
