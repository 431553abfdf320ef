import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

/** scrypt's cost (RFC 7914), as OWASP's password storage cheat sheet recommends: 16 MiB. */
const COST = { N: 2 ** 14, r: 8, p: 5 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;

// Bounds for an accounts file.
const MOST_MEMORY = 256 * 1024 * 1024;
const MOST_P = 16;

const FORMAT =
  /^scrypt\$([1-9]\d{0,6})\$([1-9]\d?)\$([1-9]\d?)\$([A-Za-z0-9_-]{22,86})\$([A-Za-z0-9_-]{43})$/;

export interface PasswordHash {
  readonly N: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

/** Reads `scrypt$N$r$p$salt$hash`. @returns undefined for any other text, or for more than 256 MiB */
export function parsePasswordHash(text: string): PasswordHash | undefined {
  const match = FORMAT.exec(text);
  if (!match) return undefined;
  const [N, r, p] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const isPowerOfTwo = N > 1 && (N & (N - 1)) === 0;
  if (!isPowerOfTwo || 128 * N * r > MOST_MEMORY || p > MOST_P) return undefined;
  return { N, r, p, salt: Buffer.from(match[4]!, 'base64url'), hash: Buffer.from(match[5]!, 'base64url') };
}

/** Hashes a password for the accounts file. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, { ...COST, salt });
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64url'), hash.toString('base64url')].join('$');
}

/** Whether a password matches a hash, in constant time. */
export async function verifyPassword(password: string, stored: PasswordHash): Promise<boolean> {
  return timingSafeEqual(await derive(password, stored), stored.hash);
}

/** Returns a hash of equal cost that no password matches, for unknown logins. */
export function unmatchableHash(like: PasswordHash): PasswordHash {
  return { ...like, salt: randomBytes(like.salt.length), hash: randomBytes(HASH_BYTES) };
}

function derive(password: string, { N, r, p, salt }: Omit<PasswordHash, 'hash'>): Promise<Buffer> {
  const maxmem = 128 * N * r + 128 * r * p + 1024 * 1024; // RFC 7914 §2, with a margin
  return new Promise((resolve, reject) => {
    // NFC: keyboards produce different bytes for one password (RFC 8265 §4.2)
    scrypt(password.normalize('NFC'), salt, HASH_BYTES, { N, r, p, maxmem }, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
}

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
