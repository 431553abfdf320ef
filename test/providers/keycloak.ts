import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from '../support/free-port.js';
import { until } from '../support/waiting.js';
import {
  call,
  CLIENT_KEY,
  EMAIL,
  isUp,
  PASSWORD,
  publicKeyOf,
  SECRET,
  visit,
  type Addresses,
  type Features,
  type Product,
  START_MS,
} from './product.js';

export const KEYCLOAK_FEATURES: Features = {
  privateKeyJwt: true,
  par: true,
  claims: true,
  iss: true,
  logout: 'silent',
};

const ADMIN = { username: 'admin', password: 'a password of the admin' };

/**
 * Starts Keycloak in its mode for development, with a database in memory.
 * @param home directory of its distribution
 */
export async function startKeycloak(home: string, at: Addresses): Promise<Product> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const options = ['--http-host=127.0.0.1', `--http-port=${port}`, '--db=dev-mem', '--log-level=warn'];
  const child = spawn('bash', [join(home, 'bin/kc.sh'), 'start-dev', ...options], {
    stdio: 'ignore',
    env: {
      ...process.env,
      JAVA_OPTS_KC_HEAP: '-Xmx512m',
      KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username,
      KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
    },
  });
  const exited = once(child, 'exit');
  const issuer = `${url}/realms/latchkey`;
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
  };

  async function admin(method: string, path: string, body?: object): Promise<unknown> {
    const answer = await fetch(`${url}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams({ ...ADMIN, grant_type: 'password', client_id: 'admin-cli' }),
    });
    const { access_token: token } = (await answer.json()) as { access_token: string };
    return call(`${url}/admin/realms${path}`, method, body, { Authorization: `Bearer ${token}` });
  }

  try {
    await until(() => isUp(`${url}/realms/master`), 'Keycloak has started', START_MS);
    await admin('POST', '', realm(at));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    issuer,
    clients: {
      plain: { adapter: 'keycloak', client_id: 'latchkey-plain', client_secret: SECRET },
      par: { adapter: 'keycloak', client_id: 'latchkey-par', client_secret: SECRET, par: 'on' },
      key: { adapter: 'keycloak', client_id: 'latchkey-key', client_key: CLIENT_KEY },
    },
    authorize: (person, page) =>
      visit(person, page, at.callback(''), { username: 'ada', password: PASSWORD }),
    async signOut(person) {
      const { pages } = await visit(person, `${issuer}/protocol/openid-connect/logout`);
      if (pages !== 1) throw new Error('Keycloak asked for no confirmation');
    },
    async rotateKeys() {
      const type = 'org.keycloak.keys.KeyProvider';
      const all = (await admin('GET', `/latchkey/components?type=${type}`)) as Component[];
      const former = all.filter(({ providerId }) => providerId === 'rsa-generated');
      await admin('POST', '/latchkey/components', {
        name: 'another',
        providerId: 'rsa-generated',
        providerType: type,
        config: { priority: ['200'], algorithm: ['RS256'] },
      });
      for (const { id } of former) await admin('DELETE', `/latchkey/components/${id}`);
    },
    stop,
  };
}

interface Component {
  readonly id: string;
  readonly providerId: string;
}

/** A realm as its import takes it. */
function realm(at: Addresses): object {
  return {
    realm: 'latchkey',
    enabled: true,
    groups: [{ name: 'staff' }],
    users: [
      {
        username: 'ada',
        enabled: true,
        email: EMAIL,
        emailVerified: true,
        firstName: 'Ada',
        lastName: 'Lovelace',
        groups: ['/staff'],
        credentials: [{ type: 'password', value: PASSWORD }],
      },
    ],
    clients: [
      client('plain', at, { secret: SECRET }),
      client('par', at, { secret: SECRET }, { 'require.pushed.authorization.requests': 'true' }),
      client(
        'key',
        at,
        { clientAuthenticatorType: 'client-jwt' },
        { 'use.jwks.string': 'true', 'jwks.string': JSON.stringify({ keys: [publicKeyOf(CLIENT_KEY)] }) },
      ),
    ],
  };
}

function client(provider: string, at: Addresses, more: object, attributes: object = {}): object {
  return {
    clientId: `latchkey-${provider}`,
    redirectUris: [at.callback(provider)],
    attributes: {
      'backchannel.logout.url': at.backChannel(provider),
      'backchannel.logout.session.required': 'true',
      'post.logout.redirect.uris': at.signedOut,
      ...attributes,
    },
    protocolMappers: [
      {
        name: 'groups',
        protocol: 'openid-connect',
        protocolMapper: 'oidc-group-membership-mapper',
        config: { 'claim.name': 'groups', 'full.path': 'false', 'id.token.claim': 'true' },
      },
    ],
    ...more,
  };
}
