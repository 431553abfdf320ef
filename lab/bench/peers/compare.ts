import { Client } from 'pg';
import type { Cleanup } from '../cleanup.js';
import { startDatabase } from '../database.js';
import type { Report } from '../report-file.js';
import { fill, fillUsers } from '../fill.js';
import { startStubProvider } from '../floor-targets.js';
import { interleave } from '../interleave.js';
import type { Options } from '../options.js';
import { table } from '../report.js';
import { socketsTable } from '../report-sockets.js';
import { measureSockets } from '../sockets.js';
import { PeerGenerator } from './generator.js';
import { installPeers } from './install.js';
import type { PeerWorkload } from './peer.js';
import { startOwn, startPeer } from './start.js';

const WARM_UP_MS = 3000;
const CONNECTIONS = [16, 64];
const TITLES: Readonly<Record<PeerWorkload, string>> = {
  refresh: 'a fresh access token',
  bearer: 'whose token it is',
  'sign-in': 'whole sign-in',
};

export async function compareWithPeers(options: Options, report: Report, cleanup: Cleanup): Promise<void> {
  installPeers();
  const sessions = options.sessions[0]!;
  const database = await startDatabase(cleanup);
  const admin = new Client(database.url);
  await admin.connect();
  cleanup.add(() => admin.end());
  const providerUrl = await startStubProvider(cleanup);
  const place = async (name: string) => {
    await admin.query(`CREATE DATABASE ${name}`);
    const url = new URL(database.url);
    url.pathname = `/${name}`;
    return { databaseUrl: url.href, providerUrl, sessions };
  };
  const own = { databaseUrl: database.url, providerUrl, sessions };
  const known = await fill(admin, database.url, sessions);
  await fillUsers(admin);
  const peers = [
    await startOwn(own, known, options.logLevel, cleanup),
    await startPeer('better-auth', await place('better_auth'), cleanup),
  ];
  const generator = new PeerGenerator(cleanup);
  for (const peer of peers) {
    await generator.learn(peer);
  }
  await admin.query('CHECKPOINT');

  await report.heading(headingOf(peers), options, admin);
  for (const workload of ['refresh', 'bearer', 'sign-in'] as const) {
    const measured = peers.filter(({ scripts }) => scripts[workload]);
    for (const { port } of measured) {
      await generator.run({ workload, port, connections: 16, milliseconds: WARM_UP_MS });
    }
    for (const connections of options.connections ?? CONNECTIONS) {
      const plan = {
        databasePid: database.pid,
        milliseconds: options.seconds * 1000,
        tidy: () => Promise.resolve(),
        run: ({ port }: { port: number }, milliseconds: number) =>
          generator.run({ workload, port, connections, milliseconds }),
      };
      const rows = await interleave(measured, plan, options.rounds);
      report.add('peers', table(TITLES[workload], connections, ['latchkey'], rows));
    }
  }
  const turns = await measureSockets({ ...options, databaseUrl: database.url, providerUrl }, cleanup);
  report.add('peers', socketsTable(options.sockets, turns));
}

function headingOf(peers: readonly { readonly name: string; readonly version: string }[]): string {
  const others = peers.slice(1).map(({ name, version }) => `${name} ${version}`);
  return `${others.join(' and ')} beside this service, each in its own database, with the same load; NODE_ENV=production for the others.
What is equal and what is not: docs/benchmark.md.`;
}
