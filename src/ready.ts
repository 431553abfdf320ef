import { SAMPLE_PROVIDER } from './config/providers/enabled-providers.js';
import type { ProviderSettings, Settings } from './config/settings/settings.js';
import { connectionConfig } from './database/pool/connection-target.js';
import { postsCode, redirectUrisToRegister } from './provider/redirect-uris.js';

const PROTOCOLS: Readonly<Record<string, string>> = {
  contract: 'a provider of the contract',
  oidc: 'OpenID Connect',
  oauth2: 'OAuth 2.0',
};

/** Names what a ready service uses, without user names and passwords: address, database, Redis, providers. */
export function readyFacts(settings: Settings, providers: readonly ProviderSettings[]): string {
  const { host, port } = settings;
  const names = providers.map(({ name }) => name).join(', ') || 'none';
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return `listening on ${address}, database ${databaseOf(settings)}, Redis ${redisOf(settings)}, providers: ${names}`;
}

/** Describes each provider but the built-in one, with the redirect URIs to register there. */
export function providerLines(settings: Settings, providers: readonly ProviderSettings[]): string[] {
  const others = providers.filter(({ name }) => !settings.sampleProvider || name !== SAMPLE_PROVIDER);
  return others.map((provider) => {
    const { name, adapter, url, options, redirectUris = settings.redirectUris } = provider;
    const at = url ?? options['authorize_url']?.split('?')[0];
    const uris = redirectUrisToRegister(settings, provider);
    const count = `${uris.length} redirect ${uris.length === 1 ? 'URI' : 'URIs'} to register`;
    const more =
      redirectUris === undefined && !postsCode(provider) ? ', and the callback of your application' : '';
    return `${name}: ${PROTOCOLS[adapter] ?? `adapter ${adapter}`}${at === undefined ? '' : ` at ${at}`}, ${count}: ${uris.join(', ')}${more}`;
  });
}

function databaseOf({ databaseUrl, dataDir }: Settings): string {
  if (databaseUrl === undefined) return `embedded in ${dataDir}`;
  const { host, port, database } = connectionConfig(databaseUrl);
  return `${host ?? 'localhost'}${port ? `:${port}` : ''}/${database ?? ''}`;
}

function redisOf({ redisUrl }: Settings): string {
  if (redisUrl === undefined) return 'not set';
  return typeof redisUrl === 'string' ? new URL(redisUrl).host : `${redisUrl.name} by Sentinel`;
}
