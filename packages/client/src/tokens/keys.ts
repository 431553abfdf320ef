import { LatchkeyError } from '../latchkey-error.js';
import { after } from '../service/timer.js';

/** Seconds. Safari's IndexedDB sometimes never answers. */
const TIMEOUT = 3;
const STORE = 'keys';

export type Keys = ReturnType<typeof makeKeys>;

/**
 * The keys of this browser's sessions. No script can read the private part, so a copy of the storage is useless elsewhere.
 * @param database its name
 */
export function makeKeys(database: string) {
  /** The key used last: it survives an IndexedDB that fails until the page is reloaded. */
  let last: { name: string; pair: CryptoKeyPair } | undefined;
  return {
    /** Stores a key, which requests.ts makes. @param prune removes older keys in the same transaction */
    async add(name: string, pair: CryptoKeyPair, prune: (keys: IDBObjectStore) => void): Promise<void> {
      await inDatabase(database, 'readwrite', (keys) => {
        prune(keys);
        return keys.add(pair, name);
      });
      last = { name, pair };
    },
    /** @throws LatchkeyError `key_lost` if the key is absent, `key_unavailable` if it cannot be read */
    async get(name: string): Promise<CryptoKeyPair> {
      if (last?.name !== name) {
        const pair = await inDatabase(database, 'readonly', (keys) => keys.get(name)).catch(() => null);
        // Some browsers return null for a key that they cannot decrypt: only undefined means absent.
        if (!pair) throw new LatchkeyError(pair === undefined ? 'key_lost' : 'key_unavailable');
        last = { name, pair: pair as CryptoKeyPair };
      }
      return last.pair;
    },
    remove(name: string): void {
      inDatabase(database, 'readwrite', (keys) => keys.delete(name)).catch(() => undefined);
    },
  };
}

/**
 * Runs a request in a transaction on a new connection, which is closed afterwards: an open one would block other pages.
 * @returns the request's result, once the transaction is on disk
 * @throws if IndexedDB is missing or forbidden, fails, or does not answer within 3 s
 */
function inDatabase<Result>(
  name: string,
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const cancel = after(TIMEOUT, reject);
    const run = async (): Promise<Result> => {
      // Without a version, so that a store that a later client has upgraded opens, too.
      const opening = indexedDB.open(name);
      opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
      await event(opening, 'success', 'error');
      try {
        const transaction = opening.result.transaction(STORE, mode, { durability: 'strict' });
        const request = work(transaction.objectStore(STORE));
        await event(transaction, 'complete', 'abort');
        return request.result;
      } finally {
        opening.result.close();
      }
    };
    run().then(resolve, reject).finally(cancel);
  });
}

function event(target: EventTarget, good: string, bad: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    target.addEventListener(good, resolve);
    target.addEventListener(bad, reject);
  });
}
