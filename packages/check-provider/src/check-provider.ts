import { setTimeout as sleep } from 'node:timers/promises';
import type { Options } from './arguments.js';
import { collect, plannedSignIns } from './collect.js';
import { LoopbackPerson } from './loopback-person.js';
import { PastingPerson } from './pasting-person.js';
import { judge } from './report.js';
import { jsonReport } from './report-json.js';
import { tableReport } from './report-table.js';

/**
 * Checks a provider and prints the report.
 * @returns the exit code: 0 all rules hold, 1 a rule fails
 * @throws CannotRun when there can be no report
 */
export async function checkProvider(options: Options): Promise<number> {
  const { redirectUri, json, wait, clientSecret } = options;
  const talk = json ? process.stderr : process.stdout; // with --json, standard output is the report alone
  const say = (line: string): void => void talk.write(`${line}\n`);
  const planned = plannedSignIns(options);
  const person =
    redirectUri === undefined
      ? await LoopbackPerson.listen(planned, wait, say)
      : new PastingPerson(redirectUri, planned, wait, say);
  try {
    const evidence = await collect(options, person, sleep);
    const report = judge(evidence, [clientSecret, ...evidence.codes]);
    const { stdout } = process;
    // hasColors() looks at NO_COLOR, TERM and the like.
    stdout.write(`${json ? jsonReport(report) : tableReport(report, stdout.isTTY && stdout.hasColors())}\n`);
    return report.ok ? 0 : 1;
  } finally {
    await person.leave();
  }
}
