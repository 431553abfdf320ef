import { Cleanup } from '../cleanup.js';
import { ask, startChild } from '../child.js';
import { refreshes, startStubProvider } from '../compare.js';
import { startDatabase, WITH_MAINTENANCE } from '../database.js';
import { fill } from '../fill.js';
import { startLatchkey } from '../latchkey-target.js';
import type { LoadOrder } from '../load/generator.js';
import type { LoadResult } from '../load/run.js';
import { changeLargeGroup } from './large-group.js';
import { parseOptions, USAGE, type Options } from './options.js';
import { DIRECTORY_ENV, ScimClient } from './scim-client.js';
import { synchronise } from './synchronisation.js';

const SESSIONS = 20_000;
const CONNECTIONS = 16;

async function measureScale(options: Options, cleanup: Cleanup): Promise<void> {
  const { url, admin } = await startDatabase(cleanup, WITH_MAINTENANCE);
  const known = await fill(admin, url, SESSIONS);
  const latchkey = await startLatchkey(url, await startStubProvider(cleanup), cleanup, DIRECTORY_ENV);
  const generator = startChild(new URL('../load/generator.js', import.meta.url).pathname, cleanup);
  const generate = (order: LoadOrder) => ask<LoadResult>(generator, order);
  await generate({ learn: 'refresh', work: refreshes(known) });
  const refresh = async (milliseconds: number): Promise<number> => {
    const load = { port: latchkey.port, connections: CONNECTIONS, milliseconds };
    const { count, seconds } = await generate({ run: 'refresh', ...load });
    return count / seconds;
  };
  await refresh(2000);
  const scim = await ScimClient.open(latchkey.port);
  cleanup.add(() => scim.close());
  const measured = async (): Promise<void> => {
    const ids = await synchronise(options, scim, refresh, admin);
    if (options.large > 0) await changeLargeGroup(ids, options.large, scim, admin);
  };
  await Promise.race([measured(), scim.failed]);
}

const cleanup = Cleanup.ofProcess();
try {
  await measureScale(parseOptions(process.argv.slice(2)), cleanup);
} catch (error) {
  if (!cleanup.hasBegun) console.error(error, `\n${USAGE}`);
  process.exitCode = 1;
}
await cleanup.run();
