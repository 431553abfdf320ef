import { setTimeout as sleep } from 'node:timers/promises';
import { parseArguments, WrongArguments, type Options } from './arguments.js';
import { CannotRun } from './cannot-run.js';
import { collect, plannedSignIns } from './collect.js';
import { evaluate, jsonFailure, jsonReport, tableReport } from './report.js';
import { LoopbackPerson } from './sign-in/loopback-person.js';
import { PastingPerson } from './sign-in/pasting-person.js';

/**
 * Runs the command: checks the provider and prints the report, or the reason why there is none.
 *
 * @param name by which the command was called, for its usage
 * @param argv the arguments after the name
 * @returns the exit code. 0: all rules hold; 1: a rule fails; 2: could not run
 */
export async function runCommand(name: string, argv: readonly string[]): Promise<number> {
  try {
    const options = parseArguments(argv);
    if (options !== 'help') return await checkProvider(options);
    process.stdout.write(`${usage(name)}\n`);
    return 0;
  } catch (error) {
    const message = describe(error);
    const help = error instanceof WrongArguments ? `\n\n${usage(name)}` : '';
    process.stderr.write(`check-provider: ${message}${help}\n`);
    if (argv.includes('--json')) process.stdout.write(`${jsonFailure(message)}\n`);
    return 2;
  }
}

/**
 * Checks a provider and prints the report.
 * @returns the exit code: 0 all rules hold, 1 a rule fails
 * @throws CannotRun without a report
 */
async function checkProvider(options: Options): Promise<number> {
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
    const report = evaluate(evidence, [clientSecret, ...evidence.codes]);
    const { stdout } = process;
    // hasColors() looks at NO_COLOR, TERM and the like.
    stdout.write(`${json ? jsonReport(report) : tableReport(report, stdout.isTTY && stdout.hasColors())}\n`);
    return report.ok ? 0 : 1;
  } finally {
    await person.leave();
  }
}

/** Any other error than `CannotRun` is a fault of this command. */
function describe(error: unknown): string {
  return error instanceof CannotRun ? error.message : `${(error as Error).stack}`;
}

/** @param name by which the command was called */
export function usage(name: string): string {
  return `Usage: ${name} <url> --client-id X --client-secret Y [options]

Checks an identity provider against the provider contract (spec 4.5, 7.3).

  --redirect-uri U  a callback that the provider has registered; you paste the address your browser ends at.
                    Without it: http://127.0.0.1:<any port>/callback, where this command listens
  --json            the report as JSON on standard output
  --slow            also wait until a code must have expired (10 minutes)
  --wait S          seconds to wait for each sign-in (600)

Exit code 0: all rules hold. 1: a rule fails. 2: could not run.`;
}
