import { createServer } from 'node:http';
import { betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { toNodeHandler } from 'better-auth/node';
import { genericOAuth, jwt } from 'better-auth/plugins';
import pg from 'pg';

// better-auth as its documents set it up: a pool of `pg`, the JWT plugin, and a provider that is described by hand. What differs
// from its defaults is named here: no rate limit (as for all), no telemetry, ES256 as all have it, and no line of log.
const BASE = 'http://localhost';

const { port, secret, databaseUrl, providerUrl, client } = JSON.parse(process.env.BENCH);
const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 });
// By `fetch`, with which better-auth calls providers itself.
const exchange = async ({ code, redirectURI }) => {
  const answer = await fetch(`${providerUrl}/oauth2/token/exchange`, {
    method: 'POST',
    body: new URLSearchParams({ ...client, code, redirect_uri: redirectURI }),
  });
  const identity = await answer.json();
  return { accessToken: 'of no use', raw: identity };
};
const options = {
  baseURL: BASE,
  secret,
  database: pool,
  telemetry: { enabled: false },
  logger: { level: 'error' },
  rateLimit: { enabled: false },
  plugins: [
    // the header: else each session that is asked for brings a token, too
    jwt({ jwks: { keyPairConfig: { alg: 'ES256' } }, disableSettingJwtHeader: true }),
    genericOAuth({
      config: [
        {
          providerId: 'stub',
          clientId: client.client_id,
          clientSecret: client.client_secret,
          authorizationUrl: `${providerUrl}/oauth2/authorize`,
          tokenUrl: `${providerUrl}/oauth2/token/exchange`,
          getToken: exchange, // one call, as Latchkey makes it: the answer says who it is
          getUserInfo: async ({ raw }) => ({
            id: raw.provider_user_id,
            name: raw.username,
            email: raw.email,
            emailVerified: true,
          }),
        },
      ],
    }),
  ],
};
const { runMigrations } = await getMigrations(options);
await runMigrations();
createServer(toNodeHandler(betterAuth(options))).listen(port, '127.0.0.1', 1024);
