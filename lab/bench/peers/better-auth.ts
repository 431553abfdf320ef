import { execFileSync } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from 'pg';
import { freePort } from '../../../packages/embedded-postgres/src/address.js';
import { getRequest } from '../load/script.js';
import { CLIENT_ID, CLIENT_SECRET, codeOf, SIGN_IN_USERS } from '../names.js';
import { startService } from '../service.js';
import type { Peer, Surroundings } from './peer.js';

const PEERS = join('lab', 'bench', 'peers');
const MANIFEST = join(PEERS, 'package.json');
const MODULES = join(PEERS, 'node_modules');
/** The manifest that was installed: another one is installed anew. */
const INSTALLED = join(MODULES, '.installed.json');
const KNOWN = 4096;

/** Runs better-auth (better-auth.server.js). */
export async function betterAuth(around: Surroundings): Promise<Peer> {
  const { databaseUrl, database, providerUrl, sessions, cleanup } = around;
  install();
  const port = await freePort();
  const secret = randomBytes(32).toString('hex');
  const client = { client_id: CLIENT_ID, client_secret: CLIENT_SECRET };
  const settings = { port, secret, databaseUrl: databaseUrl.href, providerUrl, client };
  const start = () =>
    startService(
      {
        name: 'better-auth',
        command: [process.execPath, join(PEERS, 'better-auth.server.js')],
        port,
        readyPath: '/api/auth/ok',
        env: { ...process.env, NODE_ENV: 'production', BENCH: JSON.stringify(settings) },
      },
      cleanup,
    );
  const first = await start(); // makes its tables
  await first.stop();
  await fillAccounts(database);
  const tokens = await fillSessions(database, sessions);
  const cookies = tokens.map((token) => sessionCookie(token, secret));
  const asks = (path: string): string[] =>
    cookies.map((cookie) => String(getRequest(path, `Cookie: ${cookie}\r\n`)));
  return {
    installed: [MODULES],
    start,
    async tasks() {
      return {
        refresh: { work: { requests: asks('/api/auth/token'), mark: 'token":"ey' } },
        introspection: { work: { requests: asks('/api/auth/get-session'), mark: '@example.' } },
        signIn: { work: { signInAt: 'better-auth' } },
      };
    },
  };
}

/** Installs what is compared, at the first run and when its versions change. */
function install(): void {
  const wanted = readFileSync(MANIFEST, 'utf8');
  if (existsSync(INSTALLED) && readFileSync(INSTALLED, 'utf8') === wanted) return;
  console.log('Installing better-auth …');
  const npm = ['install', '--workspaces=false', '--no-package-lock', '--no-audit', '--no-fund'];
  execFileSync('npm', npm, { cwd: PEERS, stdio: ['ignore', 'ignore', 'inherit'] });
  writeFileSync(INSTALLED, wanted);
}

/** As better-auth signs its cookies. */
function sessionCookie(token: string, secret: string): string {
  const signature = createHmac('sha256', secret).update(token).digest('base64');
  return `better-auth.session_token=${encodeURIComponent(`${token}.${signature}`)}`;
}

async function fillAccounts(database: Client): Promise<void> {
  const codes = Array.from({ length: SIGN_IN_USERS }, (_, n) => codeOf(n));
  await database.query(
    `INSERT INTO "user" (id, name, email, "emailVerified", "createdAt", "updatedAt")
     SELECT code, code, code || '@example.org', true, now(), now() FROM unnest($1::text[]) AS code`,
    [codes],
  );
  await database.query(
    `INSERT INTO account (id, "accountId", "providerId", "userId", "accessToken", "createdAt", "updatedAt")
     SELECT code, code, 'stub', code, 'of no use', now(), now() FROM unnest($1::text[]) AS code`,
    [codes],
  );
}

async function fillSessions(database: Client, sessions: number): Promise<string[]> {
  await database.query(
    `INSERT INTO "user" (id, name, email, "emailVerified", "createdAt", "updatedAt")
     SELECT 'u' || i, 'u' || i, 'u' || i || '@example.com', true, now(), now() FROM generate_series(1, $1) AS i`,
    [sessions],
  );
  const { rows } = await database.query<{ token: string }>(
    `INSERT INTO session (id, token, "userId", "expiresAt", "createdAt", "updatedAt")
     SELECT 's' || i, replace(gen_random_uuid()::text, '-', ''), 'u' || i, now() + interval '7 days', now(), now()
     FROM generate_series(1, $1) AS i RETURNING token`,
    [sessions],
  );
  return rows.slice(0, KNOWN).map(({ token }) => token);
}
