import { parseArguments, WrongArguments } from './arguments.js';
import { CannotRun } from './cannot-run.js';
import { checkProvider } from './check-provider.js';
import { jsonFailure } from './report-json.js';

/**
 * The whole command: checks the provider that the arguments name and prints the report, or says why it cannot.
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

/** Any other error than `CannotRun` is this command's own fault, and not a verdict either. */
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
