#!/usr/bin/env node
import { parseArguments, USAGE } from './arguments.js';
import { CannotRun } from './cannot-run.js';
import { checkProvider } from './check-provider.js';
import { jsonFailure } from './report-json.js';

/** `latchkey check-provider …` (contract §1). Exit code 0: all rules hold; 1: a rule fails; 2: could not run. */
async function main([command, ...argv]: readonly string[]): Promise<number> {
  if (command === '--help' || command === '-h') return print(USAGE);
  if (command !== 'check-provider') throw new CannotRun(`the command is missing\n\n${USAGE}`);
  const options = parseArguments(argv);
  return options === 'help' ? print(USAGE) : checkProvider(options);
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

const argv = process.argv.slice(2);
try {
  process.exitCode = await main(argv);
} catch (error) {
  // Anything else is a fault of this command's own, and no verdict either.
  const message = error instanceof CannotRun ? error.message : `${(error as Error).stack}`;
  process.stderr.write(`check-provider: ${message}\n`);
  if (argv.includes('--json')) process.stdout.write(`${jsonFailure(message)}\n`);
  process.exitCode = 2;
}
