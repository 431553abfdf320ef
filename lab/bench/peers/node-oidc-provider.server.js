import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';
import pg from 'pg';

// node-oidc-provider with a store in PostgreSQL. Its login page calls the stub provider, as Latchkey does, and asks for no consent.
const { port, secret, databaseUrl, providerUrl, client, clients } = JSON.parse(process.env.BENCH);
const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 });
await pool.query(`
  CREATE TABLE IF NOT EXISTS models (
    kind text, id text, uid text, grant_id text, payload jsonb NOT NULL, consumed_at bigint, expires_at timestamptz,
    PRIMARY KEY (kind, id));
  CREATE INDEX IF NOT EXISTS models_uid ON models (uid) WHERE uid IS NOT NULL;
  CREATE INDEX IF NOT EXISTS models_grant_id ON models (grant_id) WHERE grant_id IS NOT NULL`);

class Adapter {
  constructor(kind) {
    this.kind = kind;
  }

  async upsert(id, payload, expiresIn) {
    const { uid, grantId } = payload;
    await pool.query(
      `INSERT INTO models (kind, id, uid, grant_id, payload, expires_at) VALUES ($1, $2, $3, $4, $5, now() + $6 * interval '1 s')
       ON CONFLICT (kind, id) DO UPDATE SET payload = excluded.payload, expires_at = excluded.expires_at`,
      [this.kind, id, uid, grantId, payload, expiresIn],
    );
  }

  find(id) {
    return this.findBy('id', id);
  }

  findByUid(uid) {
    return this.findBy('uid', uid);
  }

  async findBy(column, value) {
    const { rows } = await pool.query(
      `SELECT payload, consumed_at FROM models
       WHERE kind = $1 AND ${column} = $2 AND (expires_at > now() OR expires_at IS NULL)`,
      [this.kind, value],
    );
    const [row] = rows;
    return row && { ...row.payload, ...(row.consumed_at && { consumed: Number(row.consumed_at) }) };
  }

  async consume(id) {
    await pool.query(
      'UPDATE models SET consumed_at = extract(epoch FROM now()) WHERE kind = $1 AND id = $2',
      [this.kind, id],
    );
  }

  async destroy(id) {
    await pool.query('DELETE FROM models WHERE kind = $1 AND id = $2', [this.kind, id]);
  }

  async revokeByGrantId(grantId) {
    await pool.query('DELETE FROM models WHERE kind = $1 AND grant_id = $2', [this.kind, grantId]);
  }
}

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const provider = new Provider(`http://localhost:${port}`, {
  adapter: Adapter,
  clients,
  cookies: { keys: [secret] },
  features: {
    devInteractions: { enabled: false },
    introspection: { enabled: true, allowedPolicy: () => true },
  },
  findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  issueRefreshToken: () => true,
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }] },
  async loadExistingGrant({ oidc }) {
    const grant = new oidc.provider.Grant({
      clientId: oidc.client.clientId,
      accountId: oidc.session.accountId,
    });
    grant.addOIDCScope('api');
    await grant.save();
    return grant;
  },
  pkce: { required: () => false },
  rotateRefreshToken: false,
  scopes: ['api'],
  ttl: { AccessToken: 3600, Grant: 86400, Interaction: 600, RefreshToken: 86400, Session: 86400 },
});
const answer = provider.callback();

async function signIn(request, response, code) {
  const exchange = await fetch(`${providerUrl}/oauth2/token/exchange`, {
    method: 'POST',
    body: new URLSearchParams({ ...client, code }),
  });
  const { provider_user_id: accountId } = await exchange.json();
  await provider.interactionFinished(request, response, { login: { accountId } });
}

createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  if (!pathname.startsWith('/interaction/')) return answer(request, response);
  signIn(request, response, searchParams.get('code')).catch((error) =>
    response.writeHead(500).end(String(error)),
  );
}).listen(port, '127.0.0.1', 1024);
