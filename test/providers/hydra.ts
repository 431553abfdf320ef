import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createEmptyDatabase } from '../support/database.js';
import { Endings } from '../support/endings.js';
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

export const HYDRA_FEATURES: Features = {
  privateKeyJwt: true,
  par: false,
  claims: true,
  iss: false,
  logout: 'silent',
};

/**
 * Starts Ory Hydra with a database of its own, and the application for login and consent that it needs.
 * @param program the compiled Hydra
 */
export async function startHydra(program: string, at: Addresses): Promise<Product> {
  const endings = new Endings();
  try {
    const [port, adminPort] = [await freePort(), await freePort()];
    const [issuer, admin] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${adminPort}/admin`];
    const pages = await startPages(admin, endings);
    const database = endings.after(await createEmptyDatabase(), (one) => one.close());
    const env = {
      ...process.env,
      DSN: `${database.url}?sslmode=disable`,
      LOG_LEVEL: 'error',
      SECRETS_SYSTEM: 'a secret of this test of Hydra',
      SERVE_ADMIN_HOST: '127.0.0.1',
      SERVE_ADMIN_PORT: String(adminPort),
      SERVE_PUBLIC_HOST: '127.0.0.1',
      SERVE_PUBLIC_PORT: String(port),
      SQA_OPT_OUT: 'true',
      URLS_CONSENT: `${pages}/consent`,
      URLS_LOGIN: `${pages}/login`,
      URLS_LOGOUT: `${pages}/logout`,
      URLS_POST_LOGOUT_REDIRECT: `${pages}/signed-out`,
      URLS_SELF_ISSUER: issuer,
    };
    const { status, stderr } = spawnSync(program, ['migrate', 'sql', '-e', '--yes'], {
      env,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`Hydra could not migrate its database: ${stderr.slice(-2000)}`);
    const child = spawn(program, ['serve', 'all', '--dev'], { env, stdio: 'ignore' });
    const exited = once(child, 'exit');
    endings.after(child, async () => {
      child.kill('SIGTERM');
      await exited;
    });
    await until(() => isUp(`${issuer}/health/ready`), 'Hydra has started', START_MS);

    const client = async (provider: string, more: object): Promise<string> => {
      const created = (await call(`${admin}/clients`, 'POST', {
        scope: 'openid profile email',
        redirect_uris: [at.callback(provider)],
        post_logout_redirect_uris: [at.signedOut],
        backchannel_logout_uri: at.backChannel(provider),
        backchannel_logout_session_required: true,
        ...more,
      })) as { client_id: string };
      return created.client_id;
    };
    const secret = { client_secret: SECRET, token_endpoint_auth_method: 'client_secret_post' };
    const key = {
      jwks: { keys: [publicKeyOf(CLIENT_KEY)] },
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'ES256',
    };
    return {
      issuer,
      clients: {
        plain: { client_id: await client('plain', secret), client_secret: SECRET },
        key: {
          client_id: await client('key', key),
          client_key: CLIENT_KEY,
          client_assertion_audience: 'token_endpoint',
        },
      },
      authorize: (person, page) =>
        visit(person, page, at.callback(''), { username: 'ada', password: PASSWORD }),
      async signOut(person) {
        await visit(person, `${issuer}/oauth2/sessions/logout`);
      },
      async rotateKeys() {
        const set = `${admin}/keys/hydra.openid.id-token`;
        const { keys } = (await call(set)) as { keys: { kid: string }[] };
        await call(set, 'POST', { alg: 'RS256', use: 'sig' });
        for (const { kid } of keys) await call(`${set}/${kid}`, 'DELETE');
      },
      stop: () => endings.run(),
    };
  } catch (error) {
    await endings.run();
    throw error;
  }
}

/** Login, consent and logout, which Hydra leaves to an application. @returns its address */
async function startPages(admin: string, endings: Endings): Promise<string> {
  const requests = `${admin}/oauth2/auth/requests`;
  const server = createServer((request, response) => {
    void (async () => {
      const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
      const accept = async (kind: string, answer: object): Promise<void> => {
        const url = `${requests}/${kind}/accept?${searchParams.toString()}`;
        const { redirect_to: Location } = (await call(url, 'PUT', answer)) as { redirect_to: string };
        response.writeHead(302, { Location }).end();
      };
      if (pathname === '/login') {
        const { skip, subject } = (await call(
          `${requests}/login?${searchParams.toString()}`,
        )) as LoginRequest;
        if (skip) await accept('login', { subject });
        else if (request.method === 'POST') await accept('login', { subject: 'ada', remember: true });
        else response.end('<form method="post"><input name="username"><input name="password"></form>');
      } else if (pathname === '/consent') {
        const { requested_scope: scope } = (await call(
          `${requests}/consent?${searchParams.toString()}`,
        )) as ConsentRequest;
        const claims = { email: EMAIL, email_verified: true, groups: ['staff'] };
        await accept('consent', { grant_scope: scope, remember: true, session: { id_token: claims } });
      } else if (pathname === '/logout') await accept('logout', {});
      else response.end('signed out');
    })().catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  endings.after(server, () => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface LoginRequest {
  readonly skip: boolean;
  readonly subject: string;
}

interface ConsentRequest {
  readonly requested_scope: readonly string[];
}
