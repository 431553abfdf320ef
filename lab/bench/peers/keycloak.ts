import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Client } from 'pg';
import { freePort } from '../../../packages/embedded-postgres/src/address.js';
import { keycloakHome } from '../../../test/providers/installed-products.js';
import { postForm } from '../load/script.js';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  codeOf,
  OIDC_TOKEN,
  REDIRECT_URI,
  SERVICE_KEY,
  SIGN_IN_USERS,
} from '../names.js';
import { startService } from '../service.js';
import { signInUsers, type Peer, type Surroundings } from './peer.js';

const REALM = '/realms/bench';
const OPENID = `${REALM}/protocol/openid-connect`;
const ADMIN = { username: 'admin', password: 'a password of the admin' };

/** Keycloak as in production: built for PostgreSQL, one instance without a cluster, users from the stub provider. */
export async function keycloak(around: Surroundings): Promise<Peer | undefined> {
  const { databaseUrl, database, providerUrl, sessions, cleanup } = around;
  const home = keycloakHome();
  if (home === undefined) return undefined;
  const program = join(home, 'bin', 'kc.sh');
  execFileSync('bash', [program, 'build', '--db=postgres'], { stdio: 'ignore' });
  const port = await freePort();
  const options = [
    '--optimized',
    '--cache=local',
    '--http-enabled=true',
    '--http-host=127.0.0.1',
    `--http-port=${port}`,
    `--hostname=http://localhost:${port}`,
    '--db-pool-max-size=50', // PostgreSQL takes 100
    '--log-level=warn',
  ];
  const start = () =>
    startService(
      {
        name: 'keycloak',
        command: ['bash', program, 'start', ...options],
        port,
        readyPath: '/realms/master',
        env: {
          ...process.env,
          JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx1g',
          KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username,
          KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
          KC_DB_URL: `jdbc:postgresql://${databaseUrl.host}${databaseUrl.pathname}`,
          KC_DB_USERNAME: databaseUrl.username,
          KC_DB_PASSWORD: databaseUrl.password,
        },
      },
      cleanup,
    );
  const first = await start();
  await createRealm(`http://127.0.0.1:${port}`, providerUrl);
  await fillUsers(database, sessions);
  await first.stop();

  return {
    installed: [home],
    start,
    async tasks() {
      const query = new URLSearchParams({
        client_id: 'app',
        response_type: 'code',
        redirect_uri: REDIRECT_URI,
        kc_idp_hint: 'stub',
      });
      const flow = {
        clientId: 'app',
        authorize: `${OPENID}/auth?${query.toString()}`,
        token: `${OPENID}/token`,
        callback: `${REALM}/broker/stub/endpoint`,
      };
      const [refreshed, introspected] = await signInUsers(flow, port);
      await fillSessions(database);
      const grant = { grant_type: 'refresh_token', client_id: 'app' };
      const refreshes = refreshed!.map(({ refresh_token }) =>
        String(postForm(`${OPENID}/token`, { ...grant, refresh_token })),
      );
      const api = { client_id: 'api', client_secret: SERVICE_KEY };
      const introspections = introspected!.map(({ access_token: token }) =>
        String(postForm(`${OPENID}/token/introspect`, { ...api, token })),
      );
      return {
        refresh: { work: { requests: refreshes, mark: '"access_token":"ey' } },
        introspection: { work: { requests: introspections, mark: '"active":true' } },
        signIn: { work: { codeFlow: flow } },
      };
    },
  };
}

async function createRealm(url: string, providerUrl: string): Promise<void> {
  const signIn = await fetch(`${url}/realms/master/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...ADMIN, grant_type: 'password', client_id: 'admin-cli' }),
  });
  const { access_token } = (await signIn.json()) as { access_token: string };
  const headers = { Authorization: `Bearer ${access_token}`, 'Content-Type': 'application/json' };
  const body = JSON.stringify(realm(providerUrl));
  const answer = await fetch(`${url}/admin/realms`, { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(`Keycloak refused the realm: ${answer.status} ${await answer.text()}`);
}

/** A realm as its import takes it: signed with ES256, tokens for an hour. */
function realm(providerUrl: string): object {
  return {
    realm: 'bench',
    enabled: true,
    sslRequired: 'none',
    defaultSignatureAlgorithm: 'ES256',
    accessTokenLifespan: 3600,
    revokeRefreshToken: false,
    identityProviders: [
      {
        alias: 'stub',
        providerId: 'oidc',
        enabled: true,
        trustEmail: true,
        config: {
          clientId: CLIENT_ID,
          clientSecret: CLIENT_SECRET,
          clientAuthMethod: 'client_secret_post',
          authorizationUrl: `${providerUrl}/oauth2/authorize`,
          tokenUrl: `${providerUrl}${OIDC_TOKEN}`,
          // One call, as Latchkey makes it: the answer says who it is.
          disableUserInfo: 'true',
          disableNonce: 'true',
          validateSignature: 'false',
          syncMode: 'IMPORT',
        },
      },
    ],
    clients: [
      {
        clientId: 'app',
        publicClient: true,
        redirectUris: [REDIRECT_URI],
        // Else Keycloak introspects no token of `app` for `api`.
        protocolMappers: [
          {
            name: 'audience',
            protocol: 'openid-connect',
            protocolMapper: 'oidc-audience-mapper',
            config: { 'included.client.audience': 'api', 'access.token.claim': 'true' },
          },
        ],
      },
      { clientId: 'api', secret: SERVICE_KEY, standardFlowEnabled: false },
    ],
  };
}

/** Users who have signed in before, as Keycloak stores them: by its API they would take minutes. */
async function fillUsers(database: Client, sessions: number): Promise<void> {
  await database.query(
    `INSERT INTO user_entity
       (id, email, email_constraint, email_verified, enabled, first_name, last_name, realm_id, username, created_timestamp)
     SELECT gen_random_uuid(), email, email, true, true, 'Ada', 'Lovelace', realm.id, code, 0
     FROM realm, generate_series(0, $1) AS n, format('user-%s', lpad(n::text, 8, '0')) AS code,
       concat(code, '@example.org') AS email
     WHERE realm.name = 'bench'`,
    [SIGN_IN_USERS + sessions - 1],
  );
  await database.query(
    `INSERT INTO federated_identity (identity_provider, realm_id, federated_user_id, federated_username, user_id)
     SELECT 'stub', realm_id, username, username, person.id FROM user_entity AS person JOIN realm ON realm.id = realm_id AND realm.name = 'bench'`,
  );
  await database.query(
    `INSERT INTO user_role_mapping (role_id, user_id)
     SELECT default_role, person.id FROM user_entity AS person JOIN realm ON realm.id = realm_id AND realm.name = 'bench'`,
  );
}

/** Adds copies of the sessions that there are, each of another user. */
async function fillSessions(database: Client): Promise<void> {
  await database.query(
    `CREATE TEMPORARY TABLE copy AS
     SELECT gen_random_uuid() AS id, person.id AS user_id, user_session_id AS original
     FROM (SELECT id, row_number() OVER () AS n FROM user_entity WHERE username >= $1) AS person
     JOIN (SELECT user_session_id, row_number() OVER () AS n, count(*) OVER () FROM offline_user_session) AS session
       ON session.n = person.n % count + 1`,
    [codeOf(SIGN_IN_USERS)],
  );
  for (const table of ['offline_user_session', 'offline_client_session'])
    await database.query(
      `INSERT INTO ${table}
       SELECT (jsonb_populate_record(session, jsonb_build_object('user_session_id', id, 'user_id', copy.user_id))).*
       FROM ${table} AS session JOIN copy ON original = user_session_id`,
    );
}
