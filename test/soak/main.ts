import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { Cleanup } from '../../bench/cleanup.js';
import { startTemporaryPostgres } from '../../packages/embedded-postgres/src/temporary-postgres.js';
import { figureTable, withPart } from '../proof/document.js';
import { hasRedis, RedisServer } from '../support/redis-server.js';
import { latencyFigures } from './latency-figures.js';
import { drawLines } from './line-chart.js';
import { picturesOf } from './pictures.js';
import { soak, type Recording } from './soak.js';
import { verdictsOf } from './verdicts.js';

/*
 * `npm run test:soak -- [--minutes N] [--short] [--leak TABLE] [--write]`: lets two instances serve clients for a time, and says whether memory,
 * rows and files stay level. `--minutes`: how long (45). `--short`: half a minute, which shows only that everything runs.
 * `--leak`: of the rows of this table, which expire, one in twenty comes back when it is removed, to see that it is found.
 * `--write`: puts the figures into docs/reliability.md, and the pictures into docs/pictures/.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DOCUMENT = join(ROOT, 'docs/reliability.md');
const WINDOW_MINUTES = 5;
const [MINUTES, SHORT_MINUTES] = [45, 0.5];
const LEAK_ONE_IN = 20;
/** Of the time, and at least these minutes: a history is as long as it gets after ten. */
const [WARM_UP_SHARE, WARM_UP] = [0.2, 12];
/** What each picture is of, for those who do not see it. */
const PICTURES = {
  memory: 'Resident memory and heap of both instances over the time of the soak',
  rows: 'Rows, dead rows and sizes of the largest tables over the time of the soak',
  files: 'File descriptors, open sockets and database connections over the time of the soak',
  latency: 'Latency by kind of request, p50 and p99, for each five minutes of the soak',
};

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    short: { type: 'boolean', default: false },
    leak: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});
const minutes = Number(values.minutes ?? (values.short ? SHORT_MINUTES : MINUTES));
if (!(minutes > 0)) throw new Error(`--minutes takes a number above 0, not ${values.minutes}`);
const warmUp = Math.max(WARM_UP, minutes * WARM_UP_SHARE);
const isJudged = minutes > 2 * warmUp;
if (isJudged && minutes % WINDOW_MINUTES !== 0)
  throw new Error(
    `more than ${2 * WARM_UP} minutes are judged by windows of ${WINDOW_MINUTES}: --minutes takes a multiple of that`,
  );
if (values.write && !isJudged) throw new Error(`--write takes more than ${2 * WARM_UP} minutes`);
if (values.write && values.leak) throw new Error('--write takes no --leak');

const cleanup = new Cleanup();
process.once('SIGINT', () => void cleanup.run().then(() => process.exit(130)));
try {
  const began = performance.now();
  const recording = await run();
  const figures = [
    ...verdictsOf(recording, isJudged ? warmUp : 0),
    ...latencyFigures(recording, WINDOW_MINUTES),
  ];
  const typed = [
    'npm run test:soak',
    ...(values.minutes === undefined ? [] : [`-- --minutes ${values.minutes}`]),
  ];
  const table = figureTable(
    figures.map((figure) => ({ part: 'soak', ...figure })),
    typed.join(' '),
  );
  process.stdout.write(`\n${table}\n\n${((performance.now() - began) / 60_000).toFixed(1)} minutes\n`);
  const failed = figures.filter(({ holds }) => !holds);
  if (isJudged && failed.length > 0) {
    process.exitCode = 1;
    for (const { what, figure, wanted } of failed)
      process.stdout.write(`does not hold: ${what}: ${figure} (${wanted})\n`);
  } else if (values.write) await write(recording, table);
} finally {
  await cleanup.run();
}

async function run(): Promise<Recording> {
  // Not a temporary directory: that may be in memory, where a database costs less.
  mkdirSync('data', { recursive: true });
  const directory = mkdtempSync(join('data', 'soak-'));
  cleanup.add(() => rmSync(directory, { recursive: true, force: true }));
  const postgres = await startTemporaryPostgres({ dataDir: join(directory, 'postgres') });
  cleanup.add(() => postgres.stop());
  const redis = hasRedis ? await RedisServer.start() : undefined;
  cleanup.add(() => redis?.kill());
  const how = `${minutes} minutes, 150 requests a second, 200 sockets, two instances, ${redis ? 'with' : 'without'} Redis`;
  process.stdout.write(`${how}\n`);
  const databaseUrl = `${postgres.url}postgres`;
  const log = (line: string): void => void process.stdout.write(`${line}\n`);
  const load = {
    users: 100,
    stay: 60,
    perSecond: 150,
    beyondPerSecond: 16,
    limit: 60,
    sockets: 200,
    sampleEveryMs: 5000,
    windowMinutes: WINDOW_MINUTES,
  };
  const options = {
    databaseUrl,
    redisUrl: redis?.url,
    directory,
    minutes,
    untilExpired: isJudged,
    leak: values.leak === undefined ? undefined : { table: values.leak, oneIn: LEAK_ONE_IN },
    log,
    ...load,
  };
  return soak(options, cleanup);
}

async function write(recording: Recording, table: string): Promise<void> {
  const shown = [...picturesOf(recording, WINDOW_MINUTES)].map(([name, chart]) => {
    writeFileSync(join(ROOT, `docs/pictures/soak-${name}.svg`), drawLines(chart));
    return `![${PICTURES[name as keyof typeof PICTURES]}](pictures/soak-${name}.svg)`;
  });
  const text = withPart(readFileSync(DOCUMENT, 'utf8'), 'soak', [table, ...shown].join('\n\n'));
  writeFileSync(DOCUMENT, await format(text, { ...(await resolveConfig(DOCUMENT)), filepath: DOCUMENT }));
}
