import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { toNodeHandler } from 'better-auth/node';
import { genericOAuth, jwt } from 'better-auth/plugins';
import pg from 'pg';

// better-auth as its documents set it up: a pool of `pg`, the JWT plugin, and a provider that is described by hand. What differs
// from its defaults is named here: no rate limit (as for all), no telemetry, ES256 as all have it, and no line of log.
const BASE = 'http://localhost';
const KNOWN = 4096;

process.on('SIGINT', () => undefined); // Ctrl-C reaches the parent as well, which ends this process in its turn
process.once('disconnect', () => process.exit(0));
process.once('message', async ({ databaseUrl, providerUrl, sessions, client, codes }) => {
  const secret = randomBytes(32).toString('hex');
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
  const auth = betterAuth(options);
  await fillAccounts(pool, codes);
  const tokens = await fillSessions(pool, sessions);
  const cookies = tokens.map((token) => sessionCookie(token, secret));
  const server = createServer(toNodeHandler(auth)).listen(0, '127.0.0.1', 1024);
  await once(server, 'listening');
  process.send({ port: server.address().port, cookies });
});

/** As better-auth signs its cookies. */
function sessionCookie(token, secret) {
  const signature = createHmac('sha256', secret).update(token).digest('base64');
  return `better-auth.session_token=${encodeURIComponent(`${token}.${signature}`)}`;
}

async function fillAccounts(pool, codes) {
  await pool.query(
    `INSERT INTO "user" (id, name, email, "emailVerified", "createdAt", "updatedAt")
     SELECT code, code, code || '@example.org', true, now(), now() FROM unnest($1::text[]) AS code`,
    [codes],
  );
  await pool.query(
    `INSERT INTO account (id, "accountId", "providerId", "userId", "accessToken", "createdAt", "updatedAt")
     SELECT code, code, 'stub', code, 'of no use', now(), now() FROM unnest($1::text[]) AS code`,
    [codes],
  );
}

async function fillSessions(pool, sessions) {
  await pool.query(
    `INSERT INTO "user" (id, name, email, "emailVerified", "createdAt", "updatedAt")
     SELECT 'u' || i, 'u' || i, 'u' || i || '@example.com', true, now(), now() FROM generate_series(1, $1) AS i`,
    [sessions],
  );
  const { rows } = await pool.query(
    `INSERT INTO session (id, token, "userId", "expiresAt", "createdAt", "updatedAt")
     SELECT 's' || i, replace(gen_random_uuid()::text, '-', ''), 'u' || i, now() + interval '7 days', now(), now()
     FROM generate_series(1, $1) AS i RETURNING token`,
    [sessions],
  );
  await pool.query('VACUUM (ANALYZE)');
  return rows.slice(0, KNOWN).map(({ token }) => token);
}
