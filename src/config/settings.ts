import type { SecretKey } from './secret-key.js';

/** What every part of the service may read of its configuration; parsed and checked once, at start. */
export interface Settings {
  readonly production: boolean;
  readonly host: string;
  readonly port: number;
  /** `{base_url}` as clients see it, an origin; issuer and audience of the tokens. */
  readonly publicUrl: string;
  /** Unset: the embedded PostgreSQL under `dataDir`. */
  readonly databaseUrl?: string;
  readonly databasePoolSize: number;
  /** Absolute path. */
  readonly dataDir: string;
  readonly redisUrl?: string;
  readonly secretKey: SecretKey;
  readonly serviceKeys: readonly string[];
  /** Unset: any absolute http(s) URL is accepted as a redirect URI. */
  readonly redirectUris?: readonly string[];
  /** Unset: loopback origins. */
  readonly corsOrigins?: readonly string[];
  /** Seconds. */
  readonly accessTokenTtl: number;
  /** Seconds. */
  readonly refreshTokenTtl: number;
  /** Seconds. */
  readonly stateTtl: number;
  /** Value of Express's `trust proxy`; unset: forwarded headers are ignored. */
  readonly trustProxy?: boolean | number | string;
  readonly rateLimit: RateLimitSettings;
  /** Events that a user's history keeps. */
  readonly channelHistory: number;
  /** Seconds. */
  readonly shutdownDelay: number;
  readonly demoEnabled: boolean;
  readonly logLevel: string;
  /** Those that are enabled, without the built-in one. */
  readonly providers: ReadonlyMap<string, ProviderSettings>;
  /** Present while the built-in provider `mock` is served by this service. */
  readonly sampleProvider?: SampleProviderSettings;
  /** One sentence each, for the log at start; no secrets. */
  readonly warnings: readonly string[];
}

/** Requests a minute and address, unless something else is said. */
export interface RateLimitSettings {
  readonly enabled: boolean;
  readonly authorize: number;
  readonly token: number;
  readonly refresh: number;
  readonly badToken: number;
  /** Handshakes of sockets. */
  readonly connect: number;
  /** Renames; a minute and user. */
  readonly write: number;
}

/** One `providers.<name>.*` (spec §4.6). Only enabled providers are listed. */
export interface ProviderSettings {
  readonly name: string;
  readonly adapter: string;
  /** `{provider_url}` as the user's browser reaches it, without a trailing slash; an adapter may do without. */
  readonly url?: string;
  /** `{provider_url}` as the service itself reaches it, where that differs (the built-in `mock`). */
  readonly internalUrl?: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The provider's own allow-list; overrides `Settings.redirectUris`. */
  readonly redirectUris?: readonly string[];
  /** What `iss` in the callback must be, where the adapter does not know it (RFC 9207). */
  readonly issuer?: string;
  /** What the variables are called that messages speak of, in the spelling that was used. */
  readonly variables: { readonly adapter: string; readonly issuer: string };
  /** Every other key of the provider, handed to its adapter as it is. */
  readonly options: Readonly<Record<string, string>>;
}

/** What was set of the built-in provider; the rest of it follows from other settings (provider/sample-provider.ts). */
export interface SampleProviderSettings {
  /** Unset: the demo accounts. */
  readonly accountsFile?: AccountsFile;
  readonly provider: Pick<ProviderSettings, 'redirectUris' | 'issuer' | 'variables' | 'options'>;
}

export interface AccountsFile {
  /** Absolute. */
  readonly path: string;
  /** What the variable is called that names it, as it was spelled. */
  readonly variable: string;
}
