import { decodePercent, type Parser, InvalidValue } from '../settings/parsers.js';

const SCHEME = /^postgres(?:ql)?:\/\//;
const SEVERAL = /^[^/?]*,/; // libpq tries several hosts in turn; pg takes them as one name

/** A URL as libpq writes it (https://www.postgresql.org/docs/current/libpq-connect.html), unchanged. */
export const databaseUrl: Parser<string> = {
  accepts:
    'a URL that begins with postgres:// or postgresql:// and names one host; of several servers, the host of a proxy that leads to the primary, such as HAProxy',
  parse(value) {
    const [, rest] = value.split(SCHEME);
    if (rest === undefined) throw new InvalidValue(value);
    if (namesSeveral(rest)) throw new InvalidValue(value, 'names several hosts');
    // A user without a host is no URL elsewhere, but usual with `?host=/run/postgresql`.
    if (!URL.canParse(value) && !URL.canParse(value.replace('@/', '@_/'))) throw new InvalidValue(value);
    // Other escapes than UTF-8: libpq refuses them, pg throws or reads another password.
    if (/\s/.test(value) || decodePercent(value) === undefined) throw new InvalidValue(value);
    return value;
  },
};

/** @param rest what follows the scheme */
function namesSeveral(rest: string): boolean {
  const query = rest.indexOf('?');
  const hosts = query < 0 ? [] : new URLSearchParams(rest.slice(query)).getAll('host');
  const address = rest.slice(rest.lastIndexOf('@', rest.search(/[/?]|$/)) + 1);
  return SEVERAL.test(address) || hosts.some((host) => host.includes(','));
}
