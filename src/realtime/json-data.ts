import { OAuthError } from '../errors/oauth-error.js';

/** Levels of arrays and objects (contract §3). PostgreSQL and parsers take more than what encodes events can bear. */
const DEEPEST = 100;
/** Characters. What fits into a request of 64 KiB is never that long, however its numbers were written. */
const LONGEST = 512 * 1024;

/**
 * What an event may carry, as it will arrive: anything that JSON can say. So what is delivered at once, what is found in
 * the history and what travels between instances are the same.
 *
 * @param data of anybody, parsed from JSON or not; undefined counts as null
 * @throws OAuthError `invalid_request` for what JSON cannot say, what is too deep and what is too long
 */
export function jsonData(data: unknown): unknown {
  const value = reparsed(data);
  if (value === undefined || !isNestedWithin(value, DEEPEST)) {
    throw new OAuthError('invalid_request', `data must be JSON of at most ${DEEPEST} levels and 512 KiB`);
  }
  return value;
}

/** Whether an event could carry a value that JSON.parse has made. */
export function isJsonData(value: unknown): boolean {
  return value !== undefined && isNestedWithin(value, DEEPEST);
}

function reparsed(data: unknown): unknown {
  try {
    const json = JSON.stringify(data ?? null) as string | undefined; // of a function: undefined
    return json === undefined || json.length > LONGEST ? undefined : JSON.parse(json);
  } catch {
    return undefined; // circular, deeper than the stack, a BigInt, a toJSON that throws
  }
}

/** Looks at each member once, and into none that is deeper; so a value that is deeper than the stack is no danger. */
function isNestedWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isNestedWithin(member, levels - 1));
}
