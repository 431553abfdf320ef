import type { Clock } from './clock.js';
import { inDatabase } from './key-database.js';
import { LatchkeyError } from './latchkey-error.js';
import { CURVE } from './proof.js';

/**
 * How many keys a browser keeps. Each session has one, which goes when it is signed out; those of sessions that ended unseen (in
 * a tab that was closed, in memory), or that others have replaced, are removed when there are more.
 */
const MOST = 1000;

/** The keys of this browser's sessions. No script can read their private parts, so whoever copies a storage lacks them. */
export interface Keys {
  /** Makes a key, and resolves with its name once it is stored; with undefined where that is not possible. */
  readonly make: () => Promise<string | undefined>;
  /** @throws LatchkeyError `key_lost` when it is not there, `key_unavailable` when nobody can say */
  readonly get: (name: string) => Promise<CryptoKeyPair>;
  readonly remove: (name: string) => void;
}

/** @param database its name */
export function makeKeys(database: string, clock: Clock): Keys {
  /** The last one that was used: a browser whose IndexedDB fails until the page is loaded again must not stop the session. */
  let last: { name: string; pair: CryptoKeyPair } | undefined;
  return {
    async make() {
      try {
        const pair = await crypto.subtle.generateKey(CURVE, false, ['sign']);
        // In the order of their age, whatever this device's clock says.
        const name = `${Math.floor(clock.now())}-${crypto.randomUUID()}`;
        await inDatabase(database, 'readwrite', (keys) => {
          const names = keys.getAllKeys();
          names.onsuccess = () => {
            const oldest = names.result.at(1 - MOST) as string | undefined;
            // Never the new one: after a redirect, the service has not told its time yet.
            if (oldest && oldest < name) keys.delete(IDBKeyRange.upperBound(oldest, true));
          };
          return keys.add(pair, name);
        });
        last = { name, pair };
        return name;
      } catch {
        return undefined;
      }
    },
    async get(name) {
      if (last?.name !== name) {
        const pair = await inDatabase(database, 'readonly', (keys) => keys.get(name)).catch(() => null);
        // What is there, but cannot be read, is null in some browsers: only what is undefined is absent.
        if (!pair) throw new LatchkeyError(pair === undefined ? 'key_lost' : 'key_unavailable');
        last = { name, pair: pair as CryptoKeyPair };
      }
      return last.pair;
    },
    remove(name) {
      inDatabase(database, 'readwrite', (keys) => keys.delete(name)).catch(() => undefined);
    },
  };
}
