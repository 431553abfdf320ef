#!/usr/bin/env node
// Static imports would delay the signal handlers: process 1 of a container ignores signals without one.
import { createRequire } from 'node:module';
import type { Command, LoadSettings } from './extensions.js';

const COMMANDS: Readonly<Record<string, Command>> = {
  serve: {
    about: 'runs the service, until SIGTERM or SIGINT ends it',
    usage: `Usage: latchkey serve

Runs the service until SIGTERM or SIGINT. Without settings, it keeps a PostgreSQL of its own in ./data and serves a page to try it
on at http://localhost:3000. With NODE_ENV=production, it names the settings that are missing.
Settings are environment variables, or lines of a file .env in the working directory: see docs/settings.md of the repository.
`,
    run: serve,
  },
  keys: {
    about: 'lists, rotates, revokes or re-encrypts the signing keys',
    run: async (argv) => (await import('./commands/keys/command.js')).runKeys(argv),
  },
  'check-provider': {
    about: 'checks an identity provider: a configured one, or one by its URL',
    async run(argv) {
      // the rules of the contract need nothing of the service
      const { runCommand } = await import('#check-provider');
      return runCommand('latchkey check-provider', argv, {
        named: async (options) => (await import('./commands/check/check-provider.js')).checkNamed(options),
        issuer: async (options) => (await import('./commands/check/check-provider.js')).checkIssuer(options),
      });
    },
  },
  'check-config': {
    about: 'checks settings, database and Redis as a start would',
    usage: `Usage: latchkey check-config

Checks settings, adapters, address, database and Redis as a start would, and prints what it finds, with the redirect URIs to
register at each provider. Nothing is started or changed. Exit code 0: valid. 1: not.
`,
    run: async () => (await import('./commands/check/check-config.js')).runCheckConfig(),
  },
  distribute: {
    about: 'distributes the tables over a Citus cluster',
    usage: `Usage: latchkey distribute

Spreads the tables over a Citus cluster by user_id, with their rows, and brings the schema up to date before. May be repeated.
DATABASE_URL (or DATABASE_DIRECT_URL) is the coordinator's. Stop the service first. See docs/scaling-out.md.
`,
    run: async () => (await import('./commands/distribute/distribute.js')).runDistribute(),
  },
  'move-database': {
    about: 'copies the database of a stopped service to an empty one',
    run: async (argv) => (await import('./commands/move/command.js')).runMoveDatabase(argv),
  },
  backup: {
    about: 'writes a backup to a file, also while the service runs',
    run: async (argv) => (await import('./commands/move/command.js')).runBackup(argv),
  },
  restore: {
    about: 'restores a backup into an empty database',
    run: async (argv) => (await import('./commands/move/command.js')).runRestore(argv),
  },
};

const usageOf = (commands: Readonly<Record<string, Command>>): string => `Usage: latchkey <command>

${Object.entries(commands)
  .map(([name, { about }]) => `  ${name.padEnd(14)}  ${about}`)
  .join('\n')}

latchkey <command> --help describes a command; latchkey --version prints the version.
Settings are environment variables, or lines of a file .env in the working directory.
`;

/** For commands of features. */
const load: LoadSettings = async (generatedSecrets) =>
  (await import('./settings.js')).loadCommandSettings(generatedSecrets);

/** Returns also the commands of features. */
async function allCommands(): Promise<Readonly<Record<string, Command>>> {
  const { FEATURES } = await import('./features.js');
  return Object.assign({ ...COMMANDS }, ...FEATURES.map(({ commands }) => commands));
}

/** Runs `latchkey <command> …`. @returns the exit code; 2 for wrong usage */
async function main([name = '', ...argv]: readonly string[]): Promise<number> {
  const commands = Object.hasOwn(COMMANDS, name) ? COMMANDS : await allCommands();
  if (Object.hasOwn(commands, name)) {
    const command = commands[name]!;
    if (command.usage === undefined || argv.length === 0) return command.run(argv, load);
    return help(command.usage, argv[0]!);
  }
  if (name === '--version' || name === '-v') {
    const { version } = createRequire(import.meta.url)('latchkey/package.json') as { version: string };
    process.stdout.write(`${version}\n`);
    return 0;
  }
  const error = name === '' ? 'the command is missing' : `there is no command ${JSON.stringify(name)}`;
  return help(usageOf(commands), name, `latchkey: ${error}\n\n`);
}

/** Prints the usage, asked for or as part of an error; without the argument, which may be a password. */
function help(usage: string, argument: string, error = ''): number {
  const isHelp = argument === '--help' || argument === '-h';
  if (isHelp) process.stdout.write(usage);
  else process.stderr.write(error + usage);
  return isHelp ? 0 : 2;
}

/** Runs the service until a signal arrives, also during the start; a second one changes nothing. */
async function serve(): Promise<number> {
  const signalled = new Promise<NodeJS.Signals>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, resolve);
  });
  try {
    const loaded = await Promise.race([import('./start/start.js'), signalled]);
    if (typeof loaded === 'object') await loaded.serve(signalled);
  } catch (error) {
    fail(error);
  }
  process.exit(0); // a start that was ended may still have work
}

/** Prints one line per error; a stack only for programming errors. */
function fail(error: unknown): never {
  const { message, stack } = error as Error;
  const isBug = error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
  process.stderr.write(`${isBug ? stack : message}\n`);
  process.exit(1);
}

process.exitCode = await main(process.argv.slice(2));
