import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { hashPassword } from './password-hash.js';

/** `latchkey hash-password`. @returns the exit code: 0 printed, 1 no password */
export async function runHashPassword(): Promise<number> {
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
