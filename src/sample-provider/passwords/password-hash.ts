import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/**
 * scrypt's cost (RFC 7914): N is memory and time, r the block size, p the number of passes. These values take 16 MiB and
 * about 0.1 s on a server's core, the strength that OWASP's password storage cheat sheet asks for.
 */
const COST = { N: 2 ** 14, r: 8, p: 5 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;

// Bounds on what an accounts file may ask of this machine: 256 MiB for one password.
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

/**
 * Reads `scrypt$N$r$p$salt$hash`: three decimal numbers, then salt (16 to 64 bytes) and hash (32 bytes) in
 * base64url without padding.
 *
 * @returns undefined when the text is something else, or asks for more than 256 MiB.
 */
export function parsePasswordHash(text: string): PasswordHash | undefined {
  const match = FORMAT.exec(text);
  if (!match) return undefined;
  const [N, r, p] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const isPowerOfTwo = N > 1 && (N & (N - 1)) === 0;
  if (!isPowerOfTwo || 128 * N * r > MOST_MEMORY || p > MOST_P) return undefined;
  return { N, r, p, salt: Buffer.from(match[4]!, 'base64url'), hash: Buffer.from(match[5]!, 'base64url') };
}

/** A new salted hash of a password, in the form for the accounts file. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, { ...COST, salt });
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64url'), hash.toString('base64url')].join('$');
}

/** Whether a password is the one that was hashed; takes the same time either way. */
export async function verifyPassword(password: string, stored: PasswordHash): Promise<boolean> {
  return timingSafeEqual(await derive(password, stored), stored.hash);
}

/** A hash that no password matches, and that costs as much to verify as `like`: for logins that do not exist. */
export function unmatchableHash(like: PasswordHash): PasswordHash {
  return { ...like, salt: randomBytes(like.salt.length), hash: randomBytes(HASH_BYTES) };
}

function derive(password: string, { N, r, p, salt }: Omit<PasswordHash, 'hash'>): Promise<Buffer> {
  const maxmem = 128 * N * r + 128 * r * p + 1024 * 1024; // RFC 7914 §2, and some room
  return new Promise((resolve, reject) => {
    // NFC: the same password typed on another keyboard gives the same bytes (RFC 8265 §4.2)
    scrypt(password.normalize('NFC'), salt, HASH_BYTES, { N, r, p, maxmem }, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
}
