#!/usr/bin/env node
import { createRequire } from 'node:module';

interface Command {
  readonly about: string;
  /** Loads the command's code, and runs it. @returns the exit code */
  run(argv: readonly string[]): Promise<number>;
}

const SERVE_USAGE = `Usage: latchkey serve

Runs the service until SIGTERM or SIGINT. Without settings, it keeps a PostgreSQL of its own in ./data and serves a page to try it
on at http://localhost:3000. With NODE_ENV=production, it names the settings that are missing.
Settings are environment variables, or lines of a file .env in the working directory: see docs/settings.md of the repository.
`;

/** Contract §1. */
const COMMANDS: Readonly<Record<string, Command>> = {
  serve: { about: 'runs the service, until SIGTERM or SIGINT ends it', run: serve },
  keys: {
    about: 'lists, rotates, revokes or re-encrypts the signing keys',
    run: async (argv) => (await import('./keys/command.js')).runKeys(argv),
  },
  'check-provider': {
    about: 'checks an identity provider against the provider contract',
    run: async (argv) => (await import('#check-provider')).runCommand('latchkey check-provider', argv),
  },
  'hash-password': {
    about: 'prints the hash of a password, for PROVIDERS_MOCK_ACCOUNTS',
    run: async (argv) => (await import('./sample-provider/passwords/hash-password.js')).runHashPassword(argv),
  },
  distribute: {
    about: 'distributes the tables over a Citus cluster',
    run: async (argv) => (await import('./distribute/command.js')).runDistribute(argv),
  },
};

const USAGE = `Usage: latchkey <command>

${Object.entries(COMMANDS)
  .map(([name, { about }]) => `  ${name.padEnd(14)}  ${about}`)
  .join('\n')}

latchkey <command> --help describes a command; latchkey --version prints the version.
Settings are environment variables, or lines of a file .env in the working directory.
`;

/** Runs `latchkey <command> …`. @returns the exit code; 2 for an unknown command */
async function main([name = '', ...argv]: readonly string[]): Promise<number> {
  if (Object.hasOwn(COMMANDS, name)) return COMMANDS[name]!.run(argv);
  if (name === '--help' || name === '-h') return print(USAGE);
  if (name === '--version' || name === '-v') return print(`${version()}\n`);
  const error = name === '' ? 'the command is missing' : `there is no command ${JSON.stringify(name)}`;
  process.stderr.write(`latchkey: ${error}\n\n${USAGE}`);
  return 2;
}

async function serve(argv: readonly string[]): Promise<number> {
  if (argv.length === 0) {
    await import('./main.js'); // it runs until a signal, and sets its exit code
    return 0;
  }
  if (argv[0] === '--help' || argv[0] === '-h') return print(SERVE_USAGE);
  process.stderr.write(SERVE_USAGE);
  return 2;
}

function print(text: string): 0 {
  process.stdout.write(text);
  return 0;
}

function version(): string {
  return (createRequire(import.meta.url)('latchkey/package.json') as { readonly version: string }).version;
}

process.exitCode = await main(process.argv.slice(2));
