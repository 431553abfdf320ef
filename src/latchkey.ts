#!/usr/bin/env node
import { runCommand, usage } from '#check-provider';

const NAME = 'latchkey check-provider';

/** `latchkey <command> …` (contract §1). @returns the exit code; 2: could not run */
async function main([command, ...argv]: readonly string[]): Promise<number> {
  if (command === 'check-provider') return runCommand(NAME, argv);
  if (command === 'distribute') return (await import('./distribute/command.js')).runDistribute(argv);
  if (command === '--help' || command === '-h') return runCommand(NAME, [command]);
  process.stderr.write(`check-provider: the command is missing\n\n${usage(NAME)}\n`);
  return 2;
}

process.exitCode = await main(process.argv.slice(2));
