import { setTimeout as delay } from 'node:timers/promises';
import { importJWK, type CryptoKey, type JWK } from 'jose';
import { temporarilyUnavailable } from './latchkey-error.js';
import { readText } from './service-calls.js';

/** As long as the service lets its answer be cached (contract §4). Older keys are used while new ones are fetched. */
const FRESH_MS = 300_000;
/** How long known keys are used while the service is away. */
const USABLE_MS = 3_600_000;
/** Whatever key ids strangers make up, the service is asked once in this time. */
const FETCH_EVERY_MS = 1000;
const FETCH_TIMEOUT_MS = 2500;
/** Requests that wait to hear of a key that is not known; each waits for two fetches at most. */
const MOST_WAITING = 1000;
/** Keys of an answer; revoked keys that are remembered. */
const MOST_KEYS = 1000;

/** The service's public keys (RFC 7517), fetched when they are first needed. */
export class KeySet {
  private keys = new Map<string, CryptoKey>();
  /** Withdrawn for ever, whatever an answer from some cache says. */
  private readonly revoked = new Set<string>();
  private fetching?: Promise<void> | undefined;
  private begunAt = -Infinity;
  private fetchedAt = -Infinity;
  private waiting = 0;

  constructor(private readonly url: string) {}

  /** The key, if it can be told without waiting. */
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
   * Asks the service for a key that is not known.
   * @returns undefined when it has none of that id: it was asked after this call
   * @throws LatchkeyError `temporarily_unavailable` when it cannot be asked
   */
  async find(kid: string): Promise<CryptoKey | undefined> {
    if (this.waiting >= MOST_WAITING) throw temporarilyUnavailable();
    const askedAt = performance.now();
    this.waiting++;
    try {
      while (this.begunAt < askedAt) {
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

  /** The service withdrew a key. */
  revoke(kid: string): void {
    const [oldest] = this.revoked;
    if (this.revoked.size >= MOST_KEYS) this.revoked.delete(oldest!);
    this.revoked.add(kid);
    this.keys.delete(kid);
  }

  /** All who need it share one fetch, and one follows another by a second at least. */
  private fetch(): Promise<void> {
    this.fetching ??= this.fetchAnew().finally(() => {
      this.fetching = undefined;
    });
    return this.fetching;
  }

  private async fetchAnew(): Promise<void> {
    const wait = this.begunAt + FETCH_EVERY_MS - performance.now();
    if (wait > 0) await delay(wait, undefined, { ref: false });
    this.begunAt = performance.now();
    const response = await fetch(`${this.url}/.well-known/jwks.json`, {
      headers: { 'Cache-Control': 'no-cache' }, // a new key may be what is asked for
      redirect: 'error',
      signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
    });
    const text = await readText(response);
    if (response.status !== 200) throw new Error(`the keys were answered with ${response.status}`);
    const keys = await importKeys(JSON.parse(text));
    this.keys = new Map([...keys].filter(([kid]) => !this.revoked.has(kid)));
    this.fetchedAt = this.begunAt;
  }
}

/** @throws Error when it is no JWK set; keys of other kinds are passed over (RFC 7517 §5) */
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
