import { availableParallelism } from 'node:os';
import { Client } from 'pg';
import { checkIntrospection } from './check-introspection.js';
import { checkProofs } from './check-proofs.js';
import { check } from './check.js';
import { Cleanup } from './cleanup.js';
import { startDatabase } from './database.js';
import { fill } from './fill.js';
import { startFloors, startStubProvider } from './floor-targets.js';
import { startLatchkey } from './latchkey-target.js';
import { LoadGenerator } from './load-generator.js';
import { parseOptions, USAGE, type Options } from './options.js';
import { socketsTable } from './report-sockets.js';
import { table } from './report.js';
import { measureSockets } from './sockets.js';
import type { Target } from './target.js';
import { measure, sweep, type Bench, type Turn, type TurnLoad } from './turn.js';

const JIT_WARM_UP_MS = 1500;

async function main(options: Options, cleanup: Cleanup): Promise<void> {
  console.log(`Filling a database of its own with ${options.sessions} sessions …`);
  const database = await startDatabase(cleanup);
  const admin = new Client(database.url);
  await admin.connect();
  cleanup.add(() => admin.end());
  const sessions = await fill(admin, database.url, options.sessions);

  const providerUrl = await startStubProvider(cleanup);
  const targets = [
    ...(await startFloors(database.url, providerUrl, cleanup)),
    await startLatchkey(database.url, providerUrl, options.logLevel, cleanup),
  ];
  for (const target of targets) {
    const { workloads } = target;
    if (workloads.includes('W1')) await check(target, admin, sessions.refreshTokens[0]!);
    if (workloads.includes('W2')) await checkIntrospection(target, admin, sessions.refreshTokens[0]!);
    if (workloads.includes('W1P')) await checkProofs(target, sessions.boundSessions[0]!);
  }

  const generator = new LoadGenerator(sessions, cleanup);
  const bench = { admin, databasePid: database.pid, generator };
  console.log(heading(options));
  for (const workload of options.workloads) {
    if (workload === 'W4') {
      const sockets = { ...options, databaseUrl: database.url, providerUrl };
      console.log(`\n${socketsTable(options.sockets, await measureSockets(sockets, cleanup))}`);
      continue;
    }
    await sweep(admin);
    const measured = targets.filter(({ workloads }) => workloads.includes(workload));
    for (const { port } of measured) {
      await generator.run({ workload, port, connections: 16, milliseconds: JIT_WARM_UP_MS });
    }
    for (const connections of options.connections) {
      const load = { workload, connections, milliseconds: options.seconds * 1000 };
      const turns = await interleave(bench, measured, load, options.rounds);
      const rows = measured.map((target) => ({ target: target.name, turns: turns.get(target)! }));
      console.log(`\n${table(workload, connections, rows)}`);
    }
  }
}

/** Each round gives each target a turn, and begins with another target: none profits from its place in the order. */
async function interleave(
  bench: Bench,
  targets: readonly Target[],
  load: TurnLoad,
  rounds: number,
): Promise<Map<Target, Turn[]>> {
  const turns = new Map<Target, Turn[]>(targets.map((target) => [target, []]));
  for (let round = 0; round < rounds; round++) {
    const first = round % targets.length;
    for (const target of [...targets.slice(first), ...targets.slice(0, first)]) {
      turns.get(target)!.push(await measure(bench, target, load));
    }
  }
  return turns;
}

function heading({ rounds, seconds, logLevel }: Options): string {
  return `
Only ratios mean something, and only within one table: all targets take turns on one machine (${availableParallelism()} cores, Node ${process.versions.node}),
on one PostgreSQL with fsync and synchronous_commit on. Medians of ${rounds} rounds, ${seconds} s a turn; ratios are taken round by round.
µs are CPU time a request. A floor is the same work without a framework: node:http, pg with named statements, node:crypto
(two: find the session, then store the token; one: a single statement; batch: one statement for all that arrive together;
proof: like batch, and each request's proof is verified; signature: no statement).
latchkey is the compiled service, LOG_LEVEL=${logLevel}, RATE_LIMIT=off.`;
}

let options: Options;
try {
  options = parseOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : 'wrong options'}\n\n${USAGE}`);
  process.exit(2);
}
const cleanup = new Cleanup();
process.once('SIGINT', () => void cleanup.run().then(() => process.exit(130)));
process.once('SIGTERM', () => void cleanup.run().then(() => process.exit(143)));
try {
  await main(options, cleanup);
} catch (error) {
  if (!cleanup.hasBegun) console.error(error); // else it was interrupted, and errors follow from the clean-up
  process.exitCode = 1;
}
await cleanup.run();
