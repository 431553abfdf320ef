import { OAuthError } from '../../errors/oauth-error.js';

/** Levels of arrays and objects (contract §3). PostgreSQL and parsers take more levels than the encoder of events does. */
const DEEPEST = 100;
/** Characters. Data from a request of 64 KiB is never that long, however its numbers were written. */
const LONGEST = 512 * 1024;

/**
 * The data of an event, as it will arrive: anything that JSON can say. So it is the same whether it is delivered at once,
 * read from the history or sent between instances.
 *
 * @param data from anybody, parsed from JSON or not; undefined counts as null
 * @throws OAuthError `invalid_request` for what JSON cannot say, what is too deep and what is too long
 */
export function jsonData(data: unknown): unknown {
  const value = reparsed(data);
  if (value === undefined || !isNestedWithin(value, DEEPEST)) {
    throw new OAuthError('invalid_request', `data must be JSON of at most ${DEEPEST} levels and 512 KiB`);
  }
  return value;
}

function reparsed(data: unknown): unknown {
  try {
    const json = JSON.stringify(data ?? null) as string | undefined; // of a function: undefined
    return json === undefined || json.length > LONGEST ? undefined : JSON.parse(json);
  } catch {
    return undefined; // circular, deeper than the stack, a BigInt, a toJSON that throws
  }
}

/** Looks at each member once, and never deeper than `levels`; so a value that is deeper than the stack does no harm. */
function isNestedWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isNestedWithin(member, levels - 1));
}
