import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { createEmptyDatabase, query } from '../support/database.js';
import { Endings } from '../support/endings.js';
import { freePort } from '../support/free-port.js';
import { Person } from '../support/oidc-issuer.js';
import { until } from '../support/waiting.js';
import {
  CLIENT_KEY,
  EMAIL,
  isUp,
  PASSWORD,
  publicKeyOf,
  SECRET,
  type Addresses,
  type Features,
  type Product,
} from './product.js';

// As Debian has them (apt-get install glewlwyd).
const PLUGIN = '/usr/lib/glewlwyd/plugin/libprotocol_oidc.so';
const TABLES = '/usr/share/doc/glewlwyd/database/init.postgre.sql.gz';
const SETTINGS = '/etc/glewlwyd/glewlwyd.conf';

export const hasGlewlwyd = [PLUGIN, TABLES, SETTINGS].every((file) => existsSync(file));

export const GLEWLWYD_FEATURES: Features = {
  privateKeyJwt: true,
  par: true,
  claims: false,
  iss: false,
};

/** Starts Glewlwyd, an OpenID provider in C, with a database of its own. */
export async function startGlewlwyd(at: Addresses): Promise<Product> {
  const endings = new Endings();
  try {
    const database = endings.after(await createEmptyDatabase(), (one) => one.close());
    await query(database.url, 'CREATE EXTENSION pgcrypto');
    await query(database.url, gunzipSync(await readFile(TABLES)).toString());
    const directory = endings.after(await mkdtemp(join(tmpdir(), 'glewlwyd-')), (one) =>
      rm(one, { recursive: true }),
    );
    const port = await freePort();
    const url = `http://localhost:${port}`;
    const file = join(directory, 'glewlwyd.conf');
    await writeFile(file, settings(await readFile(SETTINGS, 'utf8'), port, database.url));
    const child = spawn('glewlwyd', [`--config-file=${file}`], { stdio: 'ignore' });
    const exited = once(child, 'exit');
    endings.after(child, async () => {
      child.kill('SIGTERM');
      await exited;
    });
    await until(() => isUp(url), 'Glewlwyd has started');

    async function api(person: Person, method: string, path: string, body: object = {}): Promise<void> {
      const headers = { 'Content-Type': 'application/json' };
      const answer = await person.fetch(`${url}/api${path}`, { method, body: JSON.stringify(body), headers });
      if (answer.status === 200) return;
      throw new Error(`Glewlwyd answered ${method} ${path} with ${answer.status}: ${await answer.text()}`);
    }

    const admin = new Person('admin');
    const issuer = `${url}/api/oidc`;
    await api(admin, 'POST', '/auth/', { username: 'admin', password: 'password' });
    await api(admin, 'POST', '/mod/plugin/', plugin(issuer));
    const secret = { client_secret: SECRET, token_endpoint_auth_method: ['client_secret_post'] };
    await api(admin, 'POST', '/client/', client('plain', at, secret));
    await api(admin, 'POST', '/client/', client('par', at, secret));
    const jwks = { keys: [publicKeyOf(CLIENT_KEY)] };
    await api(
      admin,
      'POST',
      '/client/',
      client('key', at, { jwks, token_endpoint_auth_method: ['private_key_jwt'] }),
    );
    await api(admin, 'POST', '/user/', {
      username: 'ada',
      password: PASSWORD,
      email: EMAIL,
      enabled: true,
      scope: ['openid', 'g_profile'],
    });
    return {
      issuer,
      clients: {
        plain: { client_id: 'latchkey-plain', client_secret: SECRET, scope: 'openid' },
        par: { client_id: 'latchkey-par', client_secret: SECRET, scope: 'openid', par: 'on' },
        key: {
          client_id: 'latchkey-key',
          client_key: CLIENT_KEY,
          client_assertion_audience: 'token_endpoint',
          scope: 'openid',
        },
      },
      async authorize(person, page) {
        // What its page does, a program in the browser.
        await api(person, 'POST', '/auth/', { username: 'ada', password: PASSWORD });
        const id = new URL(page).searchParams.get('client_id');
        await api(person, 'PUT', `/auth/grant/${id}/`, { scope: 'openid' });
        const { status, headers } = await person.fetch(`${page}&g_continue`);
        const location = headers.get('Location');
        if (!location?.startsWith(at.callback('')))
          throw new Error(`Glewlwyd answered ${status} to the authorization request: ${location}`);
        return { url: new URL(location), pages: 1 };
      },
      signOut: (person) => api(person, 'DELETE', `/oidc/session/${person.cookie('OIDC_SID')}`),
      async rotateKeys() {
        await api(admin, 'PUT', '/mod/plugin/oidc', plugin(issuer));
        await api(admin, 'PUT', '/mod/reload/');
      },
      stop: () => endings.run(),
    };
  } catch (error) {
    await endings.run();
    throw error;
  }
}

/** Its module for OpenID Connect, with a new key. */
function plugin(issuer: string): object {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const parameters = {
    iss: issuer,
    'jwt-type': 'rsa',
    'jwt-key-size': '256',
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }),
    cert: publicKey.export({ format: 'pem', type: 'spki' }),
    'access-token-duration': 3600,
    'refresh-token-duration': 3600,
    'code-duration': 60,
    'refresh-token-rolling': false,
    'auth-type-token-enabled': false,
    'auth-type-refresh-enabled': true,
    'pkce-required': false,
    'subject-type': 'public',
    'auth-type-code-enabled': true,
    'pkce-allowed': true,
    'jwks-show': true,
    'allowed-scope': ['openid'],
    'email-claim': 'mandatory',
    'request-parameter-allow': true, // private_key_jwt depends on it
    'client-jwks-parameter': 'jwks',
    'oauth-par-allowed': true,
    'oauth-par-required': false,
    'oauth-par-duration': 90,
    'oauth-par-request_uri-prefix': 'urn:ietf:params:oauth:request_uri:',
    'session-management-allowed': true,
    'session-cookie-name': 'OIDC_SID',
    'session-cookie-expiration': 3600,
    'back-channel-logout-allowed': true,
  };
  return { module: 'oidc', name: 'oidc', display_name: 'OpenID Connect', enabled: true, parameters };
}

function client(provider: string, at: Addresses, more: object): object {
  return {
    client_id: `latchkey-${provider}`,
    confidential: true,
    enabled: true,
    redirect_uri: [at.callback(provider)],
    authorization_type: ['code'],
    scope: ['openid'],
    post_logout_redirect_uri: at.signedOut,
    backchannel_logout_uri: at.backChannel(provider),
    backchannel_logout_session_required: 'true',
    ...more,
  };
}

function settings(usual: string, port: number, databaseUrl: string): string {
  const { hostname, port: databasePort, username, password, pathname } = new URL(databaseUrl);
  const place = `host=${hostname} port=${databasePort} dbname=${pathname.slice(1)}`;
  const conninfo = `${place} user=${username} password=${decodeURIComponent(password)}`;
  return usual
    .replace(/^port=.*/m, `port=${port}`)
    .replace(/^external_url=.*/m, `external_url="http://localhost:${port}"`)
    .replace(/^log_mode=.*/m, 'log_mode="console"')
    .replace(/^@include .*glewlwyd-db.*/m, `database = { type = "postgre"; conninfo = "${conninfo}"; };`);
}
