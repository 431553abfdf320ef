#!/usr/bin/env node
import { createRequire } from 'node:module';

interface Command {
  readonly about: string;
  /** Each is loaded when it is called: some bring the whole service. @returns the exit code */
  run(argv: readonly string[]): Promise<number>;
}

const SERVE_USAGE = `Usage: latchkey serve

Runs the service until SIGTERM or SIGINT ends it. It needs no setting: without any it keeps a PostgreSQL of its own in ./data,
and http://localhost:3000 is a page to try it on. With NODE_ENV=production it says which settings are missing.
Settings are environment variables, or lines of a file .env in the working directory: see docs/settings.md of the repository.
`;

/** Contract §1. */
const COMMANDS: ReadonlyMap<string, Command> = new Map([
  [
    'serve',
    {
      about: 'runs the service, until SIGTERM or SIGINT ends it',
      run: serve,
    },
  ],
  [
    'keys',
    {
      about: 'lists, rotates, revokes or re-encrypts the signing keys',
      run: async (argv) => (await import('./keys/command.js')).runKeys(argv),
    },
  ],
  [
    'check-provider',
    {
      about: 'checks an identity provider against the provider contract',
      run: async (argv) => (await import('#check-provider')).runCommand('latchkey check-provider', argv),
    },
  ],
  [
    'hash-password',
    {
      about: 'prints the hash of a password, for PROVIDERS_MOCK_ACCOUNTS',
      run: async (argv) =>
        (await import('./sample-provider/passwords/hash-password.js')).runHashPassword(argv),
    },
  ],
  [
    'distribute',
    {
      about: 'spreads the tables over a Citus cluster',
      run: async (argv) => (await import('./distribute/command.js')).runDistribute(argv),
    },
  ],
]);

const USAGE = `Usage: latchkey <command>

${[...COMMANDS].map(([name, { about }]) => `  ${name.padEnd(14)}  ${about}`).join('\n')}

latchkey <command> --help says more of one; latchkey --version prints the version.
Settings are environment variables, or lines of a file .env in the working directory.
`;

/** `latchkey <command> …`. @returns the exit code; 2: there is no such command */
async function main([name, ...argv]: readonly string[]): Promise<number> {
  const command = COMMANDS.get(name ?? '');
  if (command) return command.run(argv);
  if (name === '--help' || name === '-h') return print(USAGE);
  if (name === '--version' || name === '-v') return print(`${version()}\n`);
  const fault =
    name === undefined ? 'the command is missing' : `${JSON.stringify(name)} is not one of its commands`;
  process.stderr.write(`latchkey: ${fault}\n\n${USAGE}`);
  return 2;
}

async function serve(argv: readonly string[]): Promise<number> {
  if (argv.length === 0) {
    await import('./main.js'); // what `npm run start:prod` runs; it goes on by itself, and sets its own exit code
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
  const manifest = createRequire(import.meta.url)('latchkey/package.json') as { readonly version: string };
  return manifest.version;
}

process.exitCode = await main(process.argv.slice(2));
