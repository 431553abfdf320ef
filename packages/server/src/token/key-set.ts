import { setTimeout as delay } from 'node:timers/promises';
import { importJWK, type CryptoKey, type JWK } from 'jose';
import { readText } from '../calls/service-calls.js';
import { temporarilyUnavailable } from '../latchkey-error.js';

/** The answer's cache time. Older keys are used while new ones are fetched. */
const FRESH_MS = 300_000;
/** How long known keys are used while the service is unavailable. */
const USABLE_MS = 3_600_000;
/** Minimum between two fetches, however many unknown key ids tokens name. */
const FETCH_EVERY_MS = 1000;
const FETCH_TIMEOUT_MS = 2500;
/** Requests that wait for an unknown key, each for at most two fetches. */
const MOST_WAITING = 1000;
/** Keys of an answer; revoked keys in memory. */
const MOST_KEYS = 1000;

/** The service's public keys (RFC 7517), fetched at the first use. */
export class KeySet {
  private keys = new Map<string, CryptoKey>();
  /** Revoked keys stay revoked, even if a cached answer still has them. */
  private readonly revoked = new Set<string>();
  private fetching?: Promise<void> | undefined;
  private begunAt = -Infinity;
  private fetchedAt = -Infinity;
  private waiting = 0;

  constructor(private readonly url: string) {}

  /** Returns a key that is known already. */
  known(kid: string): CryptoKey | undefined {
    const age = performance.now() - this.fetchedAt;
    if (age > USABLE_MS) return undefined;
    if (age > FRESH_MS) void this.fetch().catch(() => undefined);
    return this.keys.get(kid);
  }

  isRevoked(kid: string): boolean {
    return this.revoked.has(kid);
  }

  /**
   * Fetches an unknown key.
   * @returns undefined if an answer requested after this call lacks it
   * @throws LatchkeyError `temporarily_unavailable` if the service cannot be reached
   */
  async find(kid: string): Promise<CryptoKey | undefined> {
    if (this.waiting >= MOST_WAITING) throw temporarilyUnavailable();
    const sentAt = performance.now();
    this.waiting++;
    try {
      while (this.begunAt < sentAt) {
        await this.fetch();
        const key = this.keys.get(kid);
        if (key) return key;
      }
      return undefined;
    } catch (error) {
      throw temporarilyUnavailable(error);
    } finally {
      this.waiting--;
    }
  }

  revoke(kid: string): void {
    const [oldest] = this.revoked;
    if (this.revoked.size >= MOST_KEYS) this.revoked.delete(oldest!);
    this.revoked.add(kid);
    this.keys.delete(kid);
  }

  /** Concurrent calls share a fetch. */
  private fetch(): Promise<void> {
    this.fetching ??= this.fetchOnce().finally(() => {
      this.fetching = undefined;
    });
    return this.fetching;
  }

  private async fetchOnce(): Promise<void> {
    const wait = this.begunAt + FETCH_EVERY_MS - performance.now();
    if (wait > 0) await delay(wait, undefined, { ref: false });
    this.begunAt = performance.now();
    const response = await fetch(`${this.url}/.well-known/jwks.json`, {
      headers: { 'Cache-Control': 'no-cache' }, // a cached answer may lack a new key
      redirect: 'manual',
      signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
    });
    const text = await readText(response);
    if (response.status !== 200)
      throw new Error(`GET /.well-known/jwks.json was answered with ${response.status}`);
    const keys = await importKeys(JSON.parse(text));
    this.keys = new Map([...keys].filter(([kid]) => !this.revoked.has(kid)));
    this.fetchedAt = this.begunAt;
  }
}

/** Ignores keys of other types (RFC 7517 §5). @throws Error if the answer is no JWK set */
async function importKeys(set: unknown): Promise<Map<string, CryptoKey>> {
  const { keys } = set as { keys: JWK[] };
  if (!Array.isArray(keys)) throw new Error('the answer is no JWK set');
  const imported = new Map<string, CryptoKey>();
  for (const { kid, kty, crv, x, y } of keys.slice(0, MOST_KEYS)) {
    if (typeof kid !== 'string' || kty !== 'EC' || crv !== 'P-256') continue;
    const key = await importJWK({ kty, crv, x: x!, y: y! }, 'ES256').catch(() => undefined);
    if (key) imported.set(kid, key as CryptoKey);
  }
  return imported;
}
