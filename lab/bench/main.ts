import { Cleanup } from './cleanup.js';
import { compareWithFloors } from './compare.js';
import { Report } from './report-file.js';
import { measureGrowth } from './growth/growth.js';
import { parseOptions, USAGE, type Mode, type Options } from './options.js';
import { compareWithPeers } from './peers/compare.js';

const RUNS: Readonly<Record<Mode, (options: Options, report: Report, cleanup: Cleanup) => Promise<void>>> = {
  floors: compareWithFloors,
  peers: compareWithPeers,
  growth: measureGrowth,
};

let options: Options;
try {
  options = parseOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : 'wrong options'}\n\n${USAGE}`);
  process.exit(2);
}
const cleanup = new Cleanup();
// Not `once`: npm hands on what the terminal has sent already, and the second would end the clean-up.
process.on('SIGINT', () => void cleanup.run().then(() => process.exit(130)));
process.on('SIGTERM', () => void cleanup.run().then(() => process.exit(143)));
try {
  const report = new Report();
  await RUNS[options.mode](options, report, cleanup);
  if (options.document) report.write();
} catch (error) {
  if (!cleanup.hasBegun) console.error(error); // else it was interrupted, and errors follow from the clean-up
  process.exitCode = 1;
}
await cleanup.run();
