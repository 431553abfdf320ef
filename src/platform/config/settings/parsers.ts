import { isIP, isIPv4, isIPv6 } from 'node:net';
import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';

export interface Parser<T> {
  /** Completes "Use …" in an error. */
  readonly accepts: string;
  /** @throws InvalidValue */
  readonly parse: (text: string) => T;
}

/** Thrown by a `Parser` with the refused part, which is not in the message: it may be a secret. */
export class InvalidValue extends Error {
  /** @param problem completes the variable's name to a sentence, without the value; else "is invalid" */
  constructor(
    readonly part: string,
    readonly problem?: string,
  ) {
    super('value refused');
  }
}

/** Makes a `Parser` from a function that returns `undefined` for a refused text. */
export function parser<T>(accepts: string, read: (text: string) => T | undefined): Parser<T> {
  const parse = (text: string): T => {
    const value = read(text);
    if (value === undefined) throw new InvalidValue(text);
    return value;
  };
  return { accepts, parse };
}

/** Decodes percent-encoded UTF-8. @returns undefined for other escapes */
export function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

export const boolean = words('true', 'false');

export const onOff = words('on', 'off');

export function integer(min: number, max: number, unit = ''): Parser<number> {
  return parser(`a whole number from ${min} to ${max}${unit && ` (${unit})`}`, (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
    return value >= min && value <= max ? value : undefined;
  });
}

export function oneOf<T extends string>(...accepted: readonly T[]): Parser<T> {
  return parser(new Intl.ListFormat('en', { type: 'disjunction' }).format(accepted), (value) =>
    accepted.find((word) => word === value),
  );
}

export const text = parser('text on one line, not blank', (value) =>
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  value.trim() === '' || /[\u0000-\u001f\u007f]/.test(value) ? undefined : value,
);

/** Not below /proc, where Node.js would try without end to make a directory; `.env` does not expand `~`. */
export const directory = parser('a directory on a disk, without ~ for a home directory', (value) =>
  /^\/proc(?:\/|$)/.test(resolve(value)) || /^~[^/]*(?:\/|$)/.test(value) ? undefined : text.parse(value),
);

/** An address or host name without brackets. URLs know neither zones nor all dotted numbers. */
export const host = parser('an IP address without a zone, or a host name', (value) => {
  const isHost = isIP(value) !== 0 || /^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$/.test(value);
  return isHost && URL.canParse(`http://${isIPv6(value) ? `[${value}]` : value}`) ? value : undefined;
});

export function list(entries: string, accepts: (entry: string) => boolean): Parser<readonly string[]> {
  const parse = (value: string): readonly string[] => {
    const all = value.split(',').map((entry) => entry.trim());
    const named = all.filter((entry) => entry !== '');
    const refused = named.filter((entry) => !accepts(entry));
    if (refused.length > 0) throw new InvalidValue(refused.join(', '));
    if (named.length === 0) throw new InvalidValue(value);
    return named;
  };
  return { accepts: `a comma-separated list of ${entries}`, parse };
}

const RANGES_OF_EXPRESS = new Set(['loopback', 'linklocal', 'uniquelocal']);

/** Accepts only values that Express accepts for `trust proxy`. */
export const trustProxy = parser(
  'true, false, a number of hops from 0 to 99, or a comma-separated list of addresses, subnets (10.0.0.0/8), loopback, linklocal, uniquelocal',
  (value): boolean | number | string | undefined => {
    if (value === 'true' || value === 'false') return value === 'true';
    if (/^\d{1,2}$/.test(value)) return Number(value);
    const entries = value.split(',').map((entry) => entry.trim());
    const read = entries.map((entry) => (RANGES_OF_EXPRESS.has(entry) ? entry : readSubnet(entry)));
    return read.includes(undefined) ? undefined : read.join(',');
  },
);

function words(yes: string, no: string): Parser<boolean> {
  return parser(`${yes} or ${no}`, (value) => (value === yes ? true : value === no ? false : undefined));
}

/** Express refuses a length of 0, and some IPv6 addresses that end in IPv4 (`64:ff9b::192.0.2.1`). */
function readSubnet(entry: string): string | undefined {
  const [address = '', prefix, more] = entry.split('/');
  if (!isIP(address) || address.includes('%') || more !== undefined) return undefined;
  const written = isIPv4(address) ? address : ipaddr.IPv6.parse(address).toString();
  if (prefix === undefined) return written;
  const isLength =
    /^\d{1,3}$/.test(prefix) && Number(prefix) >= 1 && Number(prefix) <= (isIPv4(address) ? 32 : 128);
  return isLength ? `${written}/${prefix}` : undefined;
}
