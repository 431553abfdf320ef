import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { limitVariables } from './limits.js';
import { accountsFile } from './sample-accounts.js';

/** Seconds: so short that within minutes each table is as full as it gets, and removal works all the time. */
export const LIVES = { access: 90, refresh: 180, state: 60 };
export const SERVICE_KEY = 'the-service-key-of-the-soak-with-all-rights';
/** Within so many seconds what has expired is removed: a minute (contract §5), and what a busy machine takes. */
export const REMOVED_WITHIN = 75;
/** Events that a user's history keeps. */
export const HISTORY = 20;
/** Connections of each instance (the default). */
export const POOL = 10;

const SECRET = 'a client secret of the stub';

interface Where {
  readonly databaseUrl: string;
  /** Undefined: without. */
  readonly redisUrl: string | undefined;
  /** For the file of the sample provider's accounts. */
  readonly directory: string;
  /** Requests a minute, of each limit. */
  readonly limit: number;
}

/** The environment of both instances. @param provider address of the providers (provider.ts) */
export function settingsOf(
  { databaseUrl, redisUrl, directory, limit }: Where,
  provider: string,
): Record<string, string> {
  const accounts = resolve(join(directory, 'accounts.json'));
  writeFileSync(accounts, accountsFile());
  return {
    NODE_ENV: 'production',
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: String(POOL),
    ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
    SECRET_KEY: '5e'.repeat(32),
    PUBLIC_URL: 'http://localhost:3000',
    REDIRECT_URIS: 'https://app.example/callback',
    TRUST_PROXY: 'loopback',
    ...limitVariables(limit),
    SERVICE_KEYS: SERVICE_KEY,
    ACCESS_TOKEN_TTL: String(LIVES.access),
    REFRESH_TOKEN_TTL: String(LIVES.refresh),
    STATE_TTL: String(LIVES.state),
    CHANNEL_HISTORY: String(HISTORY),
    LOG_LEVEL: 'warn',
    ...providerVariables('STUB', provider),
    ...providerVariables('CORP', provider),
    PROVIDERS_CORP_ADAPTER: 'oidc',
    PROVIDERS_MOCK_ENABLED: 'true',
    PROVIDERS_MOCK_ACCOUNTS: accounts,
  };
}

function providerVariables(name: string, url: string): Record<string, string> {
  return {
    [`PROVIDERS_${name}_URL`]: url,
    [`PROVIDERS_${name}_CLIENT_ID`]: 'latchkey',
    [`PROVIDERS_${name}_CLIENT_SECRET`]: SECRET,
  };
}
