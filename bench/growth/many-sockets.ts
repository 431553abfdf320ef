import { readFileSync } from 'node:fs';
import { FLOOR_SCHEMA } from '../floors/schema.js';
import { socketsTable } from '../report-sockets.js';
import { measureSockets, SOCKETS_A_USER } from '../sockets.js';
import { newDatabase, type GrowthBench } from './place.js';

const SOCKETS = 20_000;
/** Of the files that a process may open: the service keeps the rest for its connections to the database and for requests. */
const SHARE = 0.9;

/** What so many sockets in one process hold and cost, beside bare Socket.IO; fewer where a process may not open so many files. */
export async function measureManySockets(bench: GrowthBench): Promise<void> {
  const { options, report, cleanup, providerUrl } = bench;
  const { url, client } = await newDatabase(bench, 'sockets');
  await client.query(FLOOR_SCHEMA);
  const most = Math.min(SOCKETS, Math.floor(SHARE * mostFiles()));
  const sockets = most - (most % SOCKETS_A_USER);
  const bounded = { ...options, databaseUrl: url, providerUrl, sockets, rounds: 1 };
  report.add('many-sockets', socketsTable(sockets, await measureSockets(bounded, cleanup)));
}

/** The hard limit, up to which Node.js raises its own. */
function mostFiles(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    return Number(/^Max open files +\S+ +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    return Infinity; // not Linux: connecting tells
  }
}
