import { Client } from 'pg';
import type { Cleanup } from '../cleanup.js';
import { startDatabase } from '../database.js';
import type { Report } from '../report-file.js';
import { startStubProvider } from '../floor-targets.js';
import type { Options, Part } from '../options.js';
import { roomFor } from './disk.js';
import { measureIdle } from './idle.js';
import { measureManySockets } from './many-sockets.js';
import type { GrowthBench } from './place.js';
import { measurePushes } from './pushes.js';
import { measureSessions } from './sessions.js';

/** A quarter of the memory of a small server, as a database of this size is given; the log of a filling is not cut in pieces. */
const SETTINGS = ['shared_buffers=2GB', 'maintenance_work_mem=1GB', 'max_wal_size=8GB'];

const PARTS: Readonly<Record<Part, (bench: GrowthBench) => Promise<void>>> = {
  sessions: measureSessions,
  pushes: measurePushes,
  idle: measureIdle,
  sockets: measureManySockets,
};

/** Measures what more sessions, more connected users and more sockets cost, and what the service costs when it has nothing to do. */
export async function measureGrowth(options: Options, report: Report, cleanup: Cleanup): Promise<void> {
  if (options.parts.includes('sessions')) roomFor(options.sessions);
  const database = await startDatabase(cleanup, SETTINGS);
  const admin = new Client(database.url);
  await admin.connect();
  cleanup.add(() => admin.end());
  const bench: GrowthBench = {
    options,
    report,
    cleanup,
    admin,
    database,
    providerUrl: await startStubProvider(cleanup),
  };
  await report.heading(HEADING, options, admin);
  for (const part of options.parts) await PARTS[part](bench);
}

const HEADING = `The compiled service, RATE_LIMIT=off, with tables of several sizes: each in a database of its own, with a service of its own,
which take turns. The first is what the others are compared with.`;
