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
/** Requests that wait for a fetch, if other keys are known: made-up key ids must not occupy an API. */
const MOST_WAITING = 4;
/** The same before any key is known. */
const MOST_WAITING_AT_FIRST = 1000;
/** Keys of an answer; revoked keys in memory. */
const MOST_KEYS = 1000;

/**
 * The service's public keys (RFC 7517), fetched at the first use. A request may wait for a fetch, never for the pause before the next
 * one (docs/ended-sessions.md#keys).
 */
export class KeySet {
  private keys = new Map<string, CryptoKey>();
  /** Revoked keys stay revoked, even if a cached answer still has them. */
  private readonly revoked = new Set<string>();
  private fetching: Promise<void> | undefined;
  private begunAt = -Infinity;
  private fetchedAt = -Infinity;
  /** Cause of the last fetch's failure. */
  private failure: unknown;
  private waiting = 0;

  constructor(private readonly url: string) {}

  private get isUsable(): boolean {
    return performance.now() - this.fetchedAt <= USABLE_MS;
  }

  /** Returns a key that is known already. */
  known(kid: string): CryptoKey | undefined {
    if (!this.isUsable) return undefined;
    if (performance.now() - this.fetchedAt > FRESH_MS) this.beginFetch();
    return this.keys.get(kid);
  }

  isRevoked(kid: string): boolean {
    return this.revoked.has(kid);
  }

  /**
   * Fetches an unknown key.
   * @returns undefined if an answer requested after this call lacks it
   * @throws LatchkeyError `temporarily_unavailable` if the service cannot be reached, or may not be called yet
   */
  async find(kid: string): Promise<CryptoKey | undefined> {
    const isFirst = this.beginFetch();
    if (!this.fetching || !this.mayWait(isFirst)) throw temporarilyUnavailable(this.failure);
    this.waiting++;
    await this.fetching;
    this.waiting--;
    const key = this.failure === undefined ? this.keys.get(kid) : undefined;
    if (key || (isFirst && this.failure === undefined)) return key;
    throw temporarilyUnavailable(this.failure);
  }

  /** While the service is away, one request waits, and only if no other could be answered. */
  private mayWait(isFirst: boolean): boolean {
    if (this.failure !== undefined) return isFirst && !this.isUsable;
    return this.waiting < (this.isUsable ? MOST_WAITING : MOST_WAITING_AT_FIRST);
  }

  revoke(kid: string): void {
    const [oldest] = this.revoked;
    if (this.revoked.size >= MOST_KEYS) this.revoked.delete(oldest!);
    this.revoked.add(kid);
    this.keys.delete(kid);
  }

  /** @returns false during a fetch, and in the pause after its begin */
  private beginFetch(): boolean {
    const now = performance.now();
    if (this.fetching || now - this.begunAt < FETCH_EVERY_MS) return false;
    this.begunAt = now;
    this.fetching = this.fetch().then(
      () => this.end(undefined),
      (error: unknown) => this.end(error),
    );
    return true;
  }

  private end(failure: unknown): void {
    this.failure = failure;
    this.fetching = undefined;
  }

  private async fetch(): Promise<void> {
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
