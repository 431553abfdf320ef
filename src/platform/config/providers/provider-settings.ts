import type { Parser } from '../settings/parsers.js';
import type { AllowRule } from './allow-rule.js';

// Part of the types of `latchkey/adapter`: this file imports nothing that needs the types of Node.js.

/** One enabled `providers.<name>.*` (spec §4.6). Features add their members to this interface. */
export interface ProviderSettings {
  readonly name: string;
  /** As it was set; an adapter sees the name of the preset's adapter (presets.ts). */
  readonly adapter: string;
  /** Whether the setting `adapter` is absent, so that `adapter` is the default. */
  readonly isDefaultAdapter?: true;
  /** `{provider_url}` for the browser, without a trailing slash; not every adapter needs it. */
  readonly url?: string | undefined;
  /** `{provider_url}` for the service, if it differs (the built-in `mock`). */
  readonly internalUrl?: string;
  readonly clientId: string;
  /** At the start; adapters receive the current one. Empty if the client authenticates without it. */
  readonly clientSecret: string;
  readonly clientSecretFile?: SecretFile & { readonly parser: Parser<string> };
  /** Private key of the client (RFC 7523), in PEM or as a JWK; current like the client secret. */
  readonly clientKey?: string | undefined;
  readonly clientKeyFile?: SecretFile | undefined;
  /** The provider's own allow-list; overrides `Settings.redirectUris`. */
  readonly redirectUris?: readonly string[] | undefined;
  /** Required `iss` of the callback if the adapter does not know it (RFC 9207). */
  readonly issuer?: string | undefined;
  /** `sign_in`: without a time from the provider, that of the sign-in counts (docs/guides/step-up.md). */
  readonly authTime?: 'provider' | 'sign_in' | undefined;
  /** Unset: follows from the adapter (provider/listed-provider.ts). */
  readonly mode?: ProviderMode | undefined;
  readonly label?: string | undefined;
  /** Who may sign in; unset: everyone. */
  readonly allow?: AllowRule | undefined;
  /** Whether unverified addresses count for `allow`; unset: only for `contract`. */
  readonly emailTrusted?: boolean | undefined;
  /** Domains of the users whom it serves, in lower case. */
  readonly emailDomains?: readonly string[] | undefined;
  /** Whether the service serves it itself. */
  readonly isBuiltIn?: true;
  /** Asks the provider for a refresh token, which a feature uses; unset: not. Adapter `oidc` only. */
  readonly offline?: boolean | undefined;
  /** Paths of claims by which features find users (`Identity.names`); unset: none. */
  readonly keeps?: readonly string[] | undefined;
  /** Names of the claims that users also have from the provider's directory; unset: no directory is known. */
  readonly directoryClaims?: readonly string[] | undefined;
  /** Variables for messages, as they were spelled. */
  readonly variables: { readonly adapter: string; readonly issuer: string };
  /** All other keys, for the adapter. */
  readonly options: Readonly<Record<string, string>>;
}

/** How an application shows the provider's page. */
export type ProviderMode = 'iframe' | 'popup' | 'redirect';

export interface SecretFile {
  /** Absolute. */
  readonly path: string;
  /** The variable that names it, as it was spelled. */
  readonly variable: string;
}
