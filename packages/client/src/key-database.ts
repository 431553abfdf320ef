import { after } from './timer.js';

/** Seconds. Safari's IndexedDB has been seen never to answer; one of another page may be about to be removed. */
const LONGEST_WAIT = 3;
const STORE = 'keys';

/**
 * Does one thing in a store of IndexedDB, in a transaction of its own, on a connection that is closed after it: so it is in
 * nobody's way, and a connection that the browser has closed is no fault of the next one.
 * @param name of the database, which is made when it is not there
 * @param work makes a request; what it results in is returned once the transaction is on the disk
 * @throws anything, where IndexedDB is missing or forbidden, fails, or does not answer within 3 s
 */
export function inDatabase<Result>(
  name: string,
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const cancel = after(LONGEST_WAIT, reject);
    const run = async (): Promise<Result> => {
      // Without a version: of a later client, which may have raised it, the store is good as well.
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
