import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';
import pg from 'pg';
import { adapterOn, TABLE } from './oidc-adapter.js';
import { get, postForm, serve } from './serve.js';

// node-oidc-provider with a public client, as a browser is one; refresh tokens are not rotated, and access tokens are JWTs for one
// resource, signed with ES256: so a refresh gives what it gives at Latchkey, but the access token is not stored.
const ISSUER = 'http://localhost';
const RESOURCE = 'http://localhost/api';
const CLIENT = 'bench';
const [KNOWN, AT_ONCE] = [4096, 64];
const SCOPE = 'openid offline_access';
const MONTH_S = 30 * 24 * 3600;

process.once('message', async ({ databaseUrl, sessions }) => {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 });
  await pool.query(`${TABLE}; CREATE TABLE accounts (id text PRIMARY KEY, email text NOT NULL)`);
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const provider = new Provider(ISSUER, {
    adapter: adapterOn(pool),
    clients: [
      {
        client_id: CLIENT,
        token_endpoint_auth_method: 'none',
        redirect_uris: ['http://localhost/callback'],
        grant_types: ['authorization_code', 'refresh_token'],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    cookies: { keys: ['only for the bench'] },
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'bench', alg: 'ES256', use: 'sig' }] },
    findAccount: (_, accountId) => findAccount(pool, accountId),
    claims: { openid: ['sub', 'email'] },
    rotateRefreshToken: false,
    ttl: {
      AccessToken: 3600,
      RefreshToken: MONTH_S,
      Grant: MONTH_S,
      IdToken: 3600,
      Session: MONTH_S,
      Interaction: 3600,
    },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => false,
        getResourceServerInfo: () => ({
          scope: 'api',
          accessTokenTTL: 3600,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
  const { refreshTokens, accessTokens } = await fill(provider, pool, sessions);
  await serve(createServer(provider.callback()), {
    refresh: refreshTokens.map((token) =>
      postForm('/token', {
        grant_type: 'refresh_token',
        client_id: CLIENT,
        refresh_token: token,
        resource: RESOURCE,
        scope: 'api',
      }),
    ),
    bearer: accessTokens.map((token) => get('/me', { Authorization: `Bearer ${token}` })),
  });
});

/** Accounts are the application's: here a row of a table, as Latchkey and better-auth have it. */
async function findAccount(pool, id) {
  const find = { name: 'account', text: 'SELECT email FROM accounts WHERE id = $1', values: [id] };
  const { rows } = await pool.query(find);
  return rows[0] && { accountId: id, claims: () => ({ sub: id, email: rows[0].email }) };
}

/** Grants with tokens: some that are known, made by the provider itself, and others of the same shape, copied from one of them. */
async function fill(provider, pool, sessions) {
  const [refreshTokens, accessTokens] = [[], []];
  const client = await provider.Client.find(CLIENT);
  const make = async (n) => {
    const accountId = `user-${n}`;
    const grant = new provider.Grant({ accountId, clientId: CLIENT });
    grant.addOIDCScope(SCOPE);
    grant.addResourceScope(RESOURCE, 'api');
    const grantId = await grant.save();
    const shared = { accountId, client, grantId, gty: 'authorization_code' };
    const refresh = new provider.RefreshToken({
      ...shared,
      scope: `${SCOPE} api`,
      resource: RESOURCE,
      authTime: Math.floor(Date.now() / 1000),
    });
    refreshTokens.push(await refresh.save());
    const access = new provider.AccessToken({ ...shared, scope: 'openid' });
    accessTokens.push(await access.save());
  };
  for (let n = 0; n < KNOWN; n += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => make(n + i)));
  }
  await pool.query(
    `INSERT INTO accounts SELECT 'user-' || i, 'user-' || i || '@example.org' FROM generate_series(0, $1) AS i`,
    [Math.max(sessions, KNOWN)],
  );
  for (const kind of ['Grant', 'RefreshToken']) {
    await pool.query(
      `INSERT INTO oidc_payloads (kind, id, payload, grant_id, expires_at)
       SELECT kind, gen_random_uuid(), payload, gen_random_uuid(), expires_at
       FROM (SELECT * FROM oidc_payloads WHERE kind = $1 LIMIT 1) AS one, generate_series(1, $2)`,
      [kind, Math.max(sessions - KNOWN, 0)],
    );
  }
  await pool.query('VACUUM (ANALYZE)');
  return { refreshTokens, accessTokens };
}
