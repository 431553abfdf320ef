import { Client } from 'pg';
import type { Cleanup } from './cleanup.js';
import { startDatabase } from './database.js';
import type { Report } from './report-file.js';
import { fill } from './fill.js';
import { startFloors, startStubProvider } from './floor-targets.js';
import { interleave } from './interleave.js';
import { startLatchkey } from './latchkey-target.js';
import { LoadGenerator } from './load-generator.js';
import { CONNECTIONS, type HttpWorkload, type Options } from './options.js';
import { socketsTable } from './report-sockets.js';
import { table } from './report.js';
import { measureSockets } from './sockets.js';
import { sweep, tidy } from './sweep.js';

const JIT_WARM_UP_MS = 1500;

const TITLES: Readonly<Record<HttpWorkload, string>> = {
  W1: 'W1 refresh',
  W1P: 'W1P refresh with a proof',
  W2: 'W2 verify a token',
  W3: 'W3 whole sign-in',
};

/** The floors with which a workload's figures are compared. */
const YARDSTICKS: Readonly<Record<HttpWorkload, readonly string[]>> = {
  W1: ['floor-two', 'floor-batch'],
  W1P: ['floor-proof'],
  W2: ['floor-one', 'floor-batch'],
  W3: ['floor-two', 'floor-one'],
};

export async function compareWithFloors(options: Options, report: Report, cleanup: Cleanup): Promise<void> {
  const sessions = options.sessions[0]!;
  console.log(`Filling a database of its own with ${sessions} sessions …`);
  const database = await startDatabase(cleanup);
  const admin = new Client(database.url);
  await admin.connect();
  cleanup.add(() => admin.end());
  const known = await fill(admin, database.url, sessions);

  const providerUrl = await startStubProvider(cleanup);
  const targets = [
    ...(await startFloors(database.url, providerUrl, cleanup)),
    await startLatchkey(database.url, providerUrl, options.logLevel, cleanup),
  ];
  const generator = new LoadGenerator(known, cleanup);
  await report.heading(HEADING, options, admin);
  for (const workload of options.workloads) {
    if (workload === 'W4') {
      const sockets = { ...options, databaseUrl: database.url, providerUrl };
      const turns = await measureSockets(sockets, cleanup);
      report.add('W4', socketsTable(options.sockets, turns));
      continue;
    }
    await sweep(admin);
    const measured = targets.filter(({ workloads }) => workloads.includes(workload));
    for (const { port } of measured) {
      await generator.run({ workload, port, connections: 16, milliseconds: JIT_WARM_UP_MS });
    }
    for (const connections of options.connections ?? CONNECTIONS[workload]) {
      const plan = {
        databasePid: database.pid,
        milliseconds: options.seconds * 1000,
        tidy: () => tidy(admin, workload),
        run: ({ port }: { port: number }, milliseconds: number) =>
          generator.run({ workload, port, connections, milliseconds }),
      };
      const rows = await interleave(measured, plan, options.rounds);
      const [title, yardsticks] = [TITLES[workload], YARDSTICKS[workload]];
      report.add(workload, table(title, connections, yardsticks, rows));
    }
  }
}

const HEADING = `All targets take turns. A floor is the same work without a framework: node:http, pg with named statements, node:crypto
(two: find the session, then store the token; one: a single statement; batch: one statement for all that arrive together;
proof: like batch, and each request's proof is verified; signature: no statement).
latchkey is the compiled service, RATE_LIMIT=off.`;
