import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { freePort } from '../../../packages/embedded-postgres/src/address.js';
import { postForm } from '../load/script.js';
import { CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, SERVICE_KEY } from '../names.js';
import { startService } from '../service.js';
import { signInUsers, type Peer, type Surroundings } from './peer.js';

const PROGRAM = join('lab', 'bench', 'peers', 'node-oidc-provider.server.js');
const SIGNED = { id_token_signed_response_alg: 'ES256' };
const APP = { client_id: 'app', token_endpoint_auth_method: 'none' };
const API = { client_id: 'api', client_secret: SERVICE_KEY };

/** Runs node-oidc-provider (node-oidc-provider.server.js). */
export async function nodeOidcProvider(around: Surroundings): Promise<Peer> {
  const { databaseUrl, providerUrl, cleanup } = around;
  const port = await freePort();
  const settings = {
    port,
    secret: randomBytes(32).toString('hex'),
    databaseUrl: databaseUrl.href,
    providerUrl,
    client: { client_id: CLIENT_ID, client_secret: CLIENT_SECRET },
    clients: [
      {
        ...SIGNED,
        ...APP,
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: [REDIRECT_URI],
      },
      {
        ...SIGNED,
        ...API,
        token_endpoint_auth_method: 'client_secret_post',
        grant_types: [],
        redirect_uris: [],
        response_types: [],
      },
    ],
  };
  const start = () =>
    startService(
      {
        name: 'node-oidc-provider',
        command: [process.execPath, PROGRAM],
        port,
        readyPath: '/.well-known/openid-configuration',
        env: { ...process.env, NODE_ENV: 'production', BENCH: JSON.stringify(settings) },
      },
      cleanup,
    );
  const first = await start(); // makes its table
  await first.stop();
  return {
    installed: [join('node_modules', 'oidc-provider')],
    start,
    async tasks() {
      const { client_id } = APP;
      const request = { client_id, response_type: 'code', scope: 'api', redirect_uri: REDIRECT_URI };
      const query = new URLSearchParams(request);
      const flow = { clientId: client_id, authorize: `/auth?${query.toString()}`, token: '/token' };
      const [refreshed, introspected] = await signInUsers(flow, port);
      const form = { client_id, grant_type: 'refresh_token' };
      const refreshes = refreshed!.map(({ refresh_token }) =>
        String(postForm('/token', { ...form, refresh_token })),
      );
      const introspections = introspected!.map(({ access_token: token }) =>
        String(postForm('/token/introspection', { ...API, token })),
      );
      return {
        refresh: { work: { requests: refreshes, mark: '"access_token":"' } },
        introspection: { work: { requests: introspections, mark: '"active":true' } },
        signIn: { work: { codeFlow: flow } },
      };
    },
  };
}
