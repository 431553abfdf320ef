import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
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
  acr: true,
  asksForAccount: true,
  logout: 'silent',
};

/** With its interface for administrators; paths begin with the realm. */
export interface Keycloak extends Product {
  readonly admin: Admin;
}

const ADMIN = { username: 'admin', password: 'a password of the admin' };

/**
 * Starts Keycloak in its mode for development, with a database in memory. Runs a copy of the distribution: the start
 * writes its options into its own jars, and two that share a directory break each other.
 * @param home directory of its distribution
 * @param more options of its command
 */
export async function startKeycloak(
  home: string,
  at: Addresses,
  more: readonly string[] = [],
): Promise<Keycloak> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const usual = ['--http-host=127.0.0.1', `--http-port=${port}`, '--db=dev-mem', '--log-level=warn'];
  const options = [...usual, ...more];
  const own = mkdtempSync(join(tmpdir(), 'latchkey-keycloak-'));
  cpSync(home, own, { recursive: true });
  const child = spawn('bash', [join(own, 'bin/kc.sh'), 'start-dev', ...options], {
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
    rmSync(own, { recursive: true, force: true });
  };
  const isStarted = (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`Keycloak has exited with ${child.exitCode}`);
    return isUp(`${url}/realms/master`);
  };

  const admin: Admin = async (method, path, body) => {
    const answer = await fetch(`${url}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams({ ...ADMIN, grant_type: 'password', client_id: 'admin-cli' }),
    });
    const { access_token: token } = (await answer.json()) as { access_token: string };
    return call(`${url}/admin/realms${path}`, method, body, { Authorization: `Bearer ${token}` });
  };

  try {
    await until(isStarted, 'Keycloak has started', START_MS);
    await admin('POST', '', realm(at));
    await addStepUp(admin, at);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    issuer,
    admin,
    clients: {
      plain: { adapter: 'keycloak', client_id: 'latchkey-plain', client_secret: SECRET },
      par: { adapter: 'keycloak', client_id: 'latchkey-par', client_secret: SECRET, par: 'on' },
      key: { adapter: 'keycloak', client_id: 'latchkey-key', client_key: CLIENT_KEY },
      acr: { adapter: 'keycloak', client_id: 'latchkey-acr', client_secret: SECRET },
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

type Admin = (method: string, path: string, body?: object) => Promise<unknown>;

interface Execution {
  readonly id: string;
  readonly displayName: string;
  readonly providerId?: string;
  readonly requirement: string;
}

/** Adds a client with a flow as the guide describes it: a level of authentication for each class (docs/guides/step-up.md). */
async function addStepUp(admin: Admin, at: Addresses): Promise<void> {
  const flows = '/latchkey/authentication/flows';
  await admin('POST', flows, { alias: 'step-up', providerId: 'basic-flow', topLevel: true, builtIn: false });
  const add = (flow: string, provider: string): Promise<unknown> =>
    admin('POST', `${flows}/${flow}/executions/execution`, { provider });
  const addFlow = (flow: string, alias: string): Promise<unknown> =>
    admin('POST', `${flows}/${flow}/executions/flow`, {
      alias,
      type: 'basic-flow',
      description: '',
      provider: '',
    });
  await add('step-up', 'auth-cookie');
  await addFlow('step-up', 'levels');
  for (const [level, form] of [
    ['level-1', 'auth-username-password-form'],
    ['level-2', 'auth-password-form'],
  ] as const) {
    await addFlow('levels', level);
    await add(level, 'conditional-level-of-authentication');
    await add(level, form);
  }
  const requirements: Record<string, string> = {
    'auth-cookie': 'ALTERNATIVE',
    levels: 'ALTERNATIVE',
    'level-1': 'CONDITIONAL',
    'level-2': 'CONDITIONAL',
  };
  const all = (await admin('GET', `${flows}/step-up/executions`)) as Execution[];
  let level = 0;
  for (const execution of all) {
    const { id, displayName, providerId = displayName } = execution;
    const requirement = requirements[providerId] ?? 'REQUIRED';
    await admin('PUT', `${flows}/step-up/executions`, { ...execution, requirement });
    if (providerId !== 'conditional-level-of-authentication') continue;
    level++;
    const config = { 'loa-condition-level': String(level), 'loa-max-age': '36000' };
    await admin('POST', `/latchkey/authentication/executions/${id}/config`, {
      alias: `loa-${level}`,
      config,
    });
  }
  const [flow] = ((await admin('GET', flows)) as { id: string; alias: string }[]).filter(
    ({ alias }) => alias === 'step-up',
  );
  const overrides = { authenticationFlowBindingOverrides: { browser: flow!.id } };
  await admin('POST', '/latchkey/clients', client('acr', at, { secret: SECRET, ...overrides }));
}

/** A realm as its import takes it. */
function realm(at: Addresses): object {
  return {
    realm: 'latchkey',
    enabled: true,
    attributes: { 'acr.loa.map': JSON.stringify({ silver: 1, gold: 2 }) },
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
