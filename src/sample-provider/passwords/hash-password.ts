import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { hashPassword } from './password-hash.js';

const USAGE = `Usage: latchkey hash-password

Prints the password_hash of a password, for the file that PROVIDERS_MOCK_ACCOUNTS names. It asks for the password, or reads one
line of standard input. Never an argument: other users of the machine can see those, and the shell's history keeps them.
`;

/** `latchkey hash-password` (contract §1). @returns the exit code: 0 printed, 1 no password, 2 wrong usage */
export async function runHashPassword(argv: readonly string[]): Promise<number> {
  if (argv.length > 0) {
    const isHelp = argv[0] === '--help' || argv[0] === '-h';
    (isHelp ? process.stdout : process.stderr).write(USAGE); // without the argument: it may be the password
    return isHelp ? 0 : 2;
  }
  const password = await readPassword();
  if (!password) {
    process.stderr.write('hash-password: there was no password on standard input\n');
    return 1;
  }
  process.stdout.write(`${await hashPassword(password)}\n`);
  return 0;
}

/** Reads a line of standard input; at a terminal without echo. */
async function readPassword(): Promise<string | undefined> {
  const terminal = process.stdin.isTTY;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal });
  if (terminal) process.stderr.write('Password: ');
  const { value } = (await lines[Symbol.asyncIterator]().next()) as { readonly value: string | undefined };
  lines.close();
  if (terminal) process.stderr.write('\n');
  return value;
}
