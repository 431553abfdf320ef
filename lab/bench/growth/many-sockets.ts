import { FLOOR_SCHEMA } from '../floors/schema.js';
import { socketsTable } from '../report-sockets.js';
import { measureSockets, SOCKETS_A_USER } from '../sockets.js';
import { withinLimits } from './open-files.js';
import { newDatabase, type GrowthBench } from './place.js';

const SOCKETS = 20_000;

/** What so many sockets in one process hold and cost, beside bare Socket.IO. */
export async function measureManySockets(bench: GrowthBench): Promise<void> {
  const { options, report, cleanup, providerUrl } = bench;
  const { url, client } = await newDatabase(bench, 'sockets');
  await client.query(FLOOR_SCHEMA);
  const most = withinLimits(SOCKETS);
  const sockets = most - (most % SOCKETS_A_USER);
  const bounded = { ...options, databaseUrl: url, providerUrl, sockets, rounds: 1 };
  const turns = await measureSockets(bounded, cleanup);
  report.add('many-sockets', socketsTable(sockets, turns), `one turn of ${options.seconds} s each`);
}
