import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ask, nextMessage, startChild } from '../child.js';
import type { Cleanup } from '../cleanup.js';
import { accessTokens, refreshes, startStubProvider } from '../compare.js';
import { startDatabase } from '../database.js';
import { fill, fillUsers } from '../fill.js';
import { startLatchkey } from '../latchkey-target.js';
import type { LoadOrder, Work } from '../load/generator.js';
import type { LoadResult } from '../load/run.js';
import { getRequest } from '../load/script.js';
import { CLIENT_ID, CLIENT_SECRET, codeOf, SIGN_IN_USERS } from '../names.js';
import type { Options } from '../options.js';
import { printHeading, printTable, speedsOf } from '../report.js';
import { compareSockets } from '../sockets.js';
import { interleave, measure, type Measured } from '../turn.js';
import { saveResults } from './results.js';

const PEERS = join('lab', 'bench', 'peers');
const MANIFEST = join(PEERS, 'package.json');
/** The manifest that was installed: another one is installed anew. */
const INSTALLED = join(PEERS, 'node_modules', '.installed.json');
const WARM_UP_MS = 3000;
const CONNECTIONS = [16, 64];
const TITLES = { refresh: 'a fresh access token', bearer: 'whose token it is', signIn: 'whole sign-in' };

interface Peer extends Measured {
  readonly works: Readonly<Record<keyof typeof TITLES, Work>>;
}

export async function compareWithPeers(options: Options, cleanup: Cleanup): Promise<void> {
  install();
  const { url, admin, pid } = await startDatabase(cleanup);
  const providerUrl = await startStubProvider(cleanup);
  const known = await fill(admin, url, options.sessions);
  await fillUsers(admin);
  const own = await startLatchkey(url, providerUrl, cleanup);
  const tokens = await accessTokens(own.port, known.refreshTokens);
  const requests = tokens.map((token) => String(getRequest('/me', `Authorization: Bearer ${token}\r\n`)));
  const bearer = { requests, mark: '@example.' };
  const works = { refresh: refreshes(known), bearer, signIn: { signInAt: 'latchkey' } } as const;
  await admin.query('CREATE DATABASE better_auth');
  const place = new URL(url);
  place.pathname = '/better_auth';
  const peers: Peer[] = [
    { ...own, works },
    await startBetterAuth(place.href, providerUrl, options.sessions, cleanup),
  ];
  const generator = startChild('./load/generator.js', cleanup);
  const generate = (order: LoadOrder) => ask<LoadResult>(generator, order);
  await admin.query('CHECKPOINT');

  await printHeading(HEADING, options, admin);
  for (const workload of ['refresh', 'bearer', 'signIn'] as const) {
    for (const { name, port, works: all } of peers) {
      await generate({ learn: name, work: all[workload] });
      await generate({ run: name, port, connections: 16, milliseconds: WARM_UP_MS });
    }
    for (const connections of options.connections ?? CONNECTIONS) {
      const turn = {
        databasePid: pid,
        seconds: options.seconds,
        run: ({ name, port }: Measured, milliseconds: number) =>
          generate({ run: name, port, connections, milliseconds }),
      };
      const turns = await interleave(peers, options.rounds, (peer) => measure(peer, turn));
      printTable(TITLES[workload], connections, ['latchkey'], turns);
      saveResults(speedsOf(TITLES[workload], connections, 'latchkey', turns));
    }
  }
  if (options.workloads.includes('W4')) await compareSockets(options, url, providerUrl, cleanup);
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

/** It makes and fills its own tables. */
async function startBetterAuth(
  databaseUrl: string,
  providerUrl: string,
  sessions: number,
  cleanup: Cleanup,
): Promise<Peer> {
  const child = startChild(resolve(join(PEERS, 'better-auth.js')), cleanup, { NODE_ENV: 'production' });
  const client = { client_id: CLIENT_ID, client_secret: CLIENT_SECRET };
  const codes = Array.from({ length: SIGN_IN_USERS }, (_, n) => codeOf(n));
  child.send({ databaseUrl, providerUrl, sessions, client, codes });
  const { port, cookies } = await nextMessage<{ port: number; cookies: string[] }>(child);
  const asks = (path: string): string[] =>
    cookies.map((cookie) => String(getRequest(path, `Cookie: ${cookie}\r\n`)));
  return {
    name: 'better-auth',
    pid: child.pid!,
    port,
    works: {
      refresh: { requests: asks('/api/auth/token'), mark: 'token":"ey' },
      bearer: { requests: asks('/api/auth/get-session'), mark: '@example.' },
      signIn: { signInAt: 'better-auth' },
    },
  };
}

const HEADING = `better-auth beside this service, each in its own database, with the same load; NODE_ENV=production for better-auth.
What is equal and what is not: docs/benchmark.md.`;
