import { Cleanup } from './cleanup.js';
import { compareWithFloors } from './compare.js';
import { measureNotifications } from './notifications.js';
import { parseOptions, USAGE, type Options } from './options.js';
import { compareWithPeers } from './peers/compare.js';

let options: Options;
try {
  options = parseOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : 'wrong options'}\n\n${USAGE}`);
  process.exit(2);
}
const cleanup = Cleanup.ofProcess();
try {
  if (options.notifications) await measureNotifications(options, cleanup);
  else await (options.peers ? compareWithPeers : compareWithFloors)(options, cleanup);
} catch (error) {
  if (!cleanup.hasBegun) console.error(error); // else it was interrupted, and errors follow from the clean-up
  process.exitCode = 1;
}
await cleanup.run();
