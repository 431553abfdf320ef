import { interleave } from '../interleave.js';
import { startLatchkey } from '../latchkey-target.js';
import { LoadGenerator } from '../load-generator.js';
import type { HttpWorkload } from '../options.js';
import { table } from '../report.js';
import type { Measured } from '../turn.js';
import { fillLarge } from './fill.js';
import { newDatabase, type GrowthBench } from './place.js';

const CONNECTIONS = 16;
const WARM_UP_MS = 3000;

const TITLES: readonly (readonly [HttpWorkload, string])[] = [
  ['W1', 'refresh'],
  ['W2', 'verify a token'],
  ['W3', 'whole sign-in'],
];

/** What a refresh, a verified token and a sign-in cost with more and more sessions in the tables. */
export async function measureSessions(bench: GrowthBench): Promise<void> {
  const { options, report, cleanup, database } = bench;
  const generators = new Map<Measured, LoadGenerator>();
  for (const size of options.sessions) {
    const { url, client } = await newDatabase(bench, `sessions_${size}`);
    const began = performance.now();
    const known = await fillLarge(client, size);
    const seconds = ((performance.now() - began) / 1000).toFixed(0);
    console.log(`filled ${size} sessions in ${seconds} s, ${await megabytes(bench, size)} MB`);
    const target = await startLatchkey(url, bench.providerUrl, options.logLevel, cleanup);
    const name = `${size.toLocaleString('en')} sessions`;
    generators.set({ ...target, name }, new LoadGenerator(known, cleanup));
  }
  const targets = [...generators.keys()];
  for (const [workload, title] of TITLES) {
    const run = (target: Measured, milliseconds: number) =>
      generators.get(target)!.run({ workload, port: target.port, connections: CONNECTIONS, milliseconds });
    for (const target of targets) await run(target, WARM_UP_MS);
    const plan = {
      databasePid: database.pid,
      milliseconds: options.seconds * 1000,
      tidy: () => Promise.resolve(),
      run,
    };
    const rows = await interleave(targets, plan, options.rounds);
    report.add('growth-sessions', table(title, CONNECTIONS, [targets[0]!.name], rows));
  }
}

async function megabytes({ admin }: GrowthBench, size: number): Promise<string> {
  const { rows } = await admin.query<{ bytes: string }>('SELECT pg_database_size($1) AS bytes', [
    `sessions_${size}`,
  ]);
  return (Number(rows[0]!.bytes) / 1e6).toFixed(0);
}
