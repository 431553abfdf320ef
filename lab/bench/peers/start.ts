import { join, resolve } from 'node:path';
import { nextMessage, startChild } from '../child.js';
import type { Cleanup } from '../cleanup.js';
import { startLatchkey } from '../latchkey-target.js';
import type { KnownSessions } from '../load/generator.js';
import { getRequest, postRequest } from '../load/script.js';
import { signInUsers } from '../socket-clients.js';
import { CLIENT_ID, CLIENT_SECRET, codeOf, SIGN_IN_USERS } from '../sign-in-users.js';
import { PEERS, versionOf } from './install.js';
import type { Peer } from './peer.js';

const BEARER_TOKENS = 4096; // as many as the others have

export interface PeerPlace {
  readonly databaseUrl: string;
  readonly providerUrl: string;
  readonly sessions: number;
}

/** Starts a peer, which makes and fills its own tables. */
export async function startPeer(name: 'better-auth', place: PeerPlace, cleanup: Cleanup): Promise<Peer> {
  const child = startChild(resolve(join(PEERS, `${name}.js`)), cleanup, { NODE_ENV: 'production' });
  const client = { client_id: CLIENT_ID, client_secret: CLIENT_SECRET };
  child.send({ ...place, client, codes: Array.from({ length: SIGN_IN_USERS }, (_, n) => codeOf(n)) });
  const { port, refresh, bearer } = await nextMessage<{ port: number; refresh: string[]; bearer: string[] }>(
    child,
  );
  return {
    name,
    pid: child.pid!,
    port,
    version: versionOf(name),
    scripts: {
      refresh: { requests: refresh },
      bearer: { requests: bearer },
      'sign-in': { signIn: name, users: SIGN_IN_USERS },
    },
  };
}

/** Starts our own service on a filled database. */
export async function startOwn(
  { databaseUrl, providerUrl }: PeerPlace,
  { refreshTokens }: KnownSessions,
  logLevel: string,
  cleanup: Cleanup,
): Promise<Peer> {
  const { pid, port } = await startLatchkey(databaseUrl, providerUrl, logLevel, cleanup);
  const requests = refreshTokens.map((refresh_token) => postRequest('/oauth2/refresh', { refresh_token }));
  const users = await signInUsers(port, BEARER_TOKENS);
  const bearer = users.map(({ token }) => getRequest('/me', `Authorization: Bearer ${token}\r\n`).toString());
  return {
    name: 'latchkey',
    pid,
    port,
    version: 'this',
    scripts: {
      refresh: { requests: requests.map(String) },
      bearer: { requests: bearer },
      'sign-in': { signIn: 'latchkey', users: SIGN_IN_USERS },
    },
  };
}
