import type { Kind } from '../settings/kinds.js';

/** The file of a secret. */
export interface SecretFile {
  /** Absolute. */
  readonly path: string;
  /** The variable that names it, as it was spelled. */
  readonly variable: string;
}

/** How an application shows the provider's page. */
export type ProviderMode = 'iframe' | 'popup' | 'redirect';

/** One `providers.<name>.*` (spec §4.6). Only enabled providers are listed. */
export interface ProviderSettings {
  readonly name: string;
  /** As it was set. Where that is a preset, adapters see the name of the preset's adapter (provider/presets.ts). */
  readonly adapter: string;
  /** `{provider_url}` as the user's browser reaches it, without a trailing slash; not every adapter needs it. */
  readonly url?: string;
  /** `{provider_url}` as the service itself reaches it, where that differs (the built-in `mock`). */
  readonly internalUrl?: string;
  readonly clientId: string;
  /** Adapters are given the one that holds now (provider/provider.ts). */
  readonly clientSecret: string;
  /** Where it may be replaced while the service runs, and what is accepted then. */
  readonly clientSecretFile?: SecretFile & { readonly kind: Kind<string> };
  /** The provider's own allow-list; overrides `Settings.redirectUris`. */
  readonly redirectUris?: readonly string[];
  /** What `iss` in the callback must be, where the adapter does not know it (RFC 9207). */
  readonly issuer?: string;
  /** How an application should show its page; left out where that follows from the adapter (provider/listed-provider.ts). */
  readonly mode?: ProviderMode;
  /** Its name for people; left out where its own name is as good. */
  readonly label?: string;
  /** The names of the variables that messages mention, in the spelling that was used. */
  readonly variables: { readonly adapter: string; readonly issuer: string };
  /** Every other key of the provider, handed to its adapter as it is. */
  readonly options: Readonly<Record<string, string>>;
}
