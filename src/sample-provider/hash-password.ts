import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { hashPassword } from './password-hash.js';

// Prints the password_hash of the password on standard input. Never an argument: other users of the machine can see
// those, and the shell's history keeps them. At a terminal it asks, and shows nothing of what is typed.
const terminal = process.stdin.isTTY;
const silent = new Writable({ write: (_chunk, _encoding, done) => done() });

const lines = createInterface({ input: process.stdin, output: silent, terminal });
if (terminal) process.stderr.write('Password: ');
const { value: password } = await lines[Symbol.asyncIterator]().next();
lines.close();
if (terminal) process.stderr.write('\n');

if (password) {
  process.stdout.write(`${await hashPassword(password)}\n`);
} else {
  process.stderr.write('hash-password: there was no password on standard input\n');
  process.exitCode = 1;
}
