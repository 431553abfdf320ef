import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { freePort } from '../../../packages/embedded-postgres/src/address.js';
import { hydraProgram } from '../../../test/providers/installed-products.js';
import { postForm } from '../load/script.js';
import { REDIRECT_URI } from '../names.js';
import { startService } from '../service.js';
import { signInUsers, type Peer, type Surroundings } from './peer.js';

const REQUESTS = '/admin/oauth2/auth/requests';
const TOKEN = '/oauth2/token';

/** Ory Hydra; its login and consent pages are in the load generator. */
export async function hydra({ databaseUrl, cleanup }: Surroundings): Promise<Peer | undefined> {
  const program = hydraProgram();
  if (program === undefined) return undefined;
  const [port, adminPort] = [await freePort(), await freePort()];
  const issuer = `http://localhost:${port}`;
  const env = {
    ...process.env,
    // A request with a transaction takes a second connection: with fewer than there are requests, all wait for ever.
    DSN: `${databaseUrl.href}?sslmode=disable&max_conns=72&max_idle_conns=72`,
    LOG_LEVEL: 'error',
    SECRETS_SYSTEM: randomBytes(32).toString('hex'),
    SERVE_ADMIN_HOST: '127.0.0.1',
    SERVE_ADMIN_PORT: String(adminPort),
    SERVE_PUBLIC_HOST: '127.0.0.1',
    SERVE_PUBLIC_PORT: String(port),
    SQA_OPT_OUT: 'true',
    STRATEGIES_ACCESS_TOKEN: 'jwt',
    URLS_CONSENT: `${issuer}/consent`,
    URLS_LOGIN: `${issuer}/login`,
    URLS_SELF_ISSUER: issuer,
  };
  execFileSync(program, ['migrate', 'sql', '-e', '--yes'], { env, stdio: 'ignore' });
  const start = () =>
    startService(
      { name: 'hydra', command: [program, 'serve', 'all', '--dev'], port, readyPath: '/health/ready', env },
      cleanup,
    );
  const first = await start();
  const admin = `http://127.0.0.1:${adminPort}/admin`;
  // The latest key signs: ES256, as all targets do. Without a key of ID tokens, concurrent first requests make one each.
  for (const set of ['hydra.openid.id-token', 'hydra.jwt.access-token'])
    await post(`${admin}/keys/${set}`, { alg: 'ES256', use: 'sig' });
  const created = await post(`${admin}/clients`, {
    scope: 'offline_access',
    grant_types: ['authorization_code', 'refresh_token'],
    redirect_uris: [REDIRECT_URI],
    token_endpoint_auth_method: 'none',
  });
  await first.stop();

  return {
    installed: [program],
    start,
    async tasks() {
      const { client_id: clientId } = created as { client_id: string };
      const query = new URLSearchParams({
        client_id: clientId,
        response_type: 'code',
        scope: 'offline_access',
        redirect_uri: REDIRECT_URI,
        state: 'a state of the client',
      });
      const flow = {
        clientId,
        authorize: `/oauth2/auth?${query.toString()}`,
        token: TOKEN,
        requests: REQUESTS,
      };
      const [refreshed, introspected] = await signInUsers(flow, port, adminPort);
      const tokens = refreshed!.map(({ refresh_token }) => refresh_token);
      const form = { grant_type: 'refresh_token', client_id: clientId };
      const introspections = introspected!.map(({ access_token: token }) =>
        String(postForm('/admin/oauth2/introspect', { token })),
      );
      return {
        refresh: { work: { rotate: TOKEN, form, tokens } },
        introspection: {
          work: { requests: introspections, mark: '"active":true' },
          at: { port: adminPort },
        },
        signIn: { work: { codeFlow: flow }, at: { adminPort } },
      };
    },
  };
}

async function post(url: string, body: object): Promise<unknown> {
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}
