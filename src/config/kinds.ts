import { isIP } from 'node:net';
import { kind, Refused } from './kind.js';
import type { Kind } from './kind.js';

/** `true` or `false`. */
export const boolean = words('true', 'false');

/** `on` or `off`. */
export const onOff = words('on', 'off');

/** A whole number within bounds. */
export function integer(min: number, max: number, unit = ''): Kind<number> {
  return kind(`a whole number from ${min} to ${max}${unit && ` (${unit})`}`, (text) => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
    return value >= min && value <= max ? value : undefined;
  });
}

/** One of some words. */
export function oneOf<T extends string>(...accepted: readonly T[]): Kind<T> {
  return kind(accepted.join(', '), (value) => accepted.find((word) => word === value));
}

/** Text on one line that is not blank. */
export const text = kind('text on one line, not blank', (value) =>
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  value.trim() === '' || /[\u0000-\u001f\u007f]/.test(value) ? undefined : value,
);

/** An address or host name to listen on, without brackets. */
export const host = kind('an IP address or a host name', (value) =>
  isIP(value) || /^[A-Za-z0-9]([A-Za-z0-9.-]{0,252})$/.test(value) ? value : undefined,
);

/** A base address: http(s), no query, fragment or user info; normalized, one trailing slash dropped. */
export const baseUrl = kind(
  'an absolute http:// or https:// URL without query, fragment and user info',
  (value) => {
    if (!/^https?:\/\/[^/\\?#@\s][^\\?#@\s]*$/i.test(value) || !URL.canParse(value)) return undefined;
    return new URL(value).href.replace(/\/$/, '');
  },
);

/** Where a service is, and no more: it cannot answer below a path; normalized. */
export const origin = kind('an origin, http:// or https:// with host and port, and no path', (value) =>
  /^https?:\/\/[^/\\?#@\s]+\/?$/i.test(value) && URL.canParse(value) ? new URL(value).origin : undefined,
);

/** One address of a provider: http(s), no fragment or user info; kept as it is. */
export const endpointUrl = kind(
  'an absolute http:// or https:// URL without fragment and user info',
  (value) =>
    /^https?:\/\/[^/\\?#@\s][^\\#\s]*$/i.test(value) && URL.canParse(value) && !new URL(value).username
      ? value
      : undefined,
);

/** A connection URL of one of some schemes (`postgres:`); kept as it is. */
export function connectionUrl(...schemes: readonly string[]): Kind<string> {
  return kind(`a URL that begins with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}`, (value) =>
    URL.canParse(value) && schemes.some((scheme) => value.startsWith(`${scheme}//`)) ? value : undefined,
  );
}

/** One or more entries, separated by commas; blanks around them are dropped. */
export function list(entries: string, accepts: (entry: string) => boolean): Kind<readonly string[]> {
  const parse = (value: string): readonly string[] => {
    const all = value.split(',').map((entry) => entry.trim());
    const given = all.filter((entry) => entry !== '');
    const refused = given.filter((entry) => !accepts(entry));
    if (refused.length > 0) throw new Refused(refused.join(', '));
    if (given.length === 0) throw new Refused(value);
    return given;
  };
  return { accepts: `a comma-separated list of ${entries}`, parse };
}

function words(yes: string, no: string): Kind<boolean> {
  return kind(`${yes} or ${no}`, (value) => (value === yes ? true : value === no ? false : undefined));
}
