import { setTimeout as delay } from 'node:timers/promises';
import { isDatabaseAway, isRefused } from '../../errors/database-error.js';
import { errorCode, errorMessage } from '../statements/error-facts.js';
import { settingFault } from './setting-fault.js';

const RETRY_MS = 250;
export const LOCK_NOT_AVAILABLE = '55P03';

export interface Patience {
  /** The time after which the next failure is final. */
  readonly patienceMs: number;
  /** Ends the waiting at once; its reason is thrown then. */
  readonly signal: AbortSignal;
  /** Receives one line for each reason to wait. */
  readonly log: (line: string) => void;
}

/**
 * Repeats something while it fails because the database is away, slow or read-only, or a migration's table is locked. Only for
 * the start, which must be patient (contract §1); a request fails soon.
 *
 * @param work is given the milliseconds that are left
 * @throws at once, an error that waiting does not change; in the end, one with the reason of the last failure
 */
export async function patiently<Result>(
  work: (msLeft: number) => Promise<Result>,
  { patienceMs, signal, log }: Patience,
): Promise<Result> {
  const deadline = Date.now() + patienceMs;
  const told = new Set<string>(); // a handful: reasons are messages of pg and PostgreSQL
  for (;;) {
    signal.throwIfAborted();
    try {
      return await work(Math.max(0, deadline - Date.now()));
    } catch (error) {
      signal.throwIfAborted();
      const fault = settingFault(error);
      if (fault) throw new Error(fault, { cause: error });
      const isLocked = errorCode(error) === LOCK_NOT_AVAILABLE;
      if (!isLocked && (!isDatabaseAway(error) || isRefused(error))) throw error;
      const reason = errorMessage(error) || String(errorCode(error));
      if (Date.now() >= deadline) {
        const seconds = Math.round(patienceMs / 1000);
        throw new Error(`the database was not usable within ${seconds} s: ${reason}`, { cause: error });
      }
      if (!told.has(reason)) log(`waiting for the database: ${reason}`);
      told.add(reason);
    }
    await delay(RETRY_MS, undefined, { signal });
  }
}
