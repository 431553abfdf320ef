import { list, type Parser } from './parsers.js';
import { atMost, CALLED_URLS, isCalledUrl } from './signed-calls.js';

/** Addresses of WEBHOOK_URLS, each once; every address has its own sender. */
export const webhookUrls = atMost(20, list(CALLED_URLS, isCalledUrl));

/** Which of them exist, features know: `eventNames`. */
export const webhookEvents = list('names of audit events', (entry) => /^[a-z_]+$/.test(entry));

/** @param names of all audit events, of features as well */
export function eventNames(names: readonly string[]): Parser<readonly string[]> {
  return list(`names of audit events (${names.join(', ')})`, (entry) => names.includes(entry));
}
