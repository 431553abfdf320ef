/** A URI's parts as they are written (RFC 3986 §3); undefined where a part is not there. */
export interface UriParts {
  readonly scheme: string;
  readonly userInfo: string | undefined;
  readonly host: string;
  readonly port: string | undefined;
  /** With the query. */
  readonly rest: string;
  readonly hasFragment: boolean;
}

/** RFC 8252 §7.3, as the contract's `REDIRECT_URIS` names them. */
const LOOPBACK_HOSTS = ['127.0.0.1', '[::1]', 'localhost'];

/**
 * Takes a URI apart by its delimiters, as RFC 3986 §3.2 and §5.2 say, and forgives nothing.
 * @returns undefined for what has no authority
 */
export function partsOf(uri: string): UriParts | undefined {
  const colon = uri.indexOf(':');
  const scheme = uri.slice(0, Math.max(colon, 0));
  if (!/^[A-Za-z][A-Za-z0-9+.-]*$/.test(scheme) || uri.slice(colon, colon + 3) !== '://') return undefined;
  const hash = uri.indexOf('#');
  const whole = hash === -1 ? uri : uri.slice(0, hash);
  const after = whole.slice(colon + 3);
  const end = after.search(/[/?]/);
  const authority = end === -1 ? after : after.slice(0, end);
  const at = authority.lastIndexOf('@');
  const hostAndPort = authority.slice(at + 1);
  const afterHost = hostAndPort.startsWith('[') ? hostAndPort.indexOf(']') + 1 : 0;
  const mark = hostAndPort.indexOf(':', afterHost);
  return {
    scheme,
    userInfo: at === -1 ? undefined : authority.slice(0, at),
    host: mark === -1 ? hostAndPort : hostAndPort.slice(0, mark),
    port: mark === -1 ? undefined : hostAndPort.slice(mark + 1),
    rest: after.slice(authority.length),
    hasFragment: hash !== -1,
  };
}

/** Whether a list allows a redirect URI: it is an entry of it, or a loopback entry but for the port (contract §2, `REDIRECT_URIS`). */
export function listAllows(list: readonly string[], uri: string): boolean {
  if (list.includes(uri)) return true;
  const given = partsOf(uri);
  if (!given || given.userInfo !== undefined || given.hasFragment || !isPort(given.port)) return false;
  return list.some((entry) => {
    const listed = partsOf(entry);
    return (
      listed !== undefined &&
      LOOPBACK_HOSTS.includes(listed.host) &&
      ['http', 'https'].includes(listed.scheme) &&
      listed.scheme === given.scheme &&
      listed.host === given.host &&
      listed.rest === given.rest
    );
  });
}

/**
 * Whether a URI leads to an endpoint of the service, however a server or a proxy may read its path: decoded, in any letter case,
 * without dot segments and empty ones (contract §4).
 *
 * @param names hosts and ports by which the service is reached
 */
export function leadsToOwnEndpoint(names: readonly string[], uri: string): boolean {
  const { hostname, port, pathname } = new URL(uri);
  if (!names.includes(`${hostname.replace(/\.$/, '')}:${port}`)) return false;
  // A server that made a query of %3f would have lost its path.
  const ascii = pathname.replace(/%(?!23|3f)([0-7][\da-f])/gi, (_all, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return [pathname, ascii, ascii.replace(/[/\\]+/g, '/')].some((one) => {
    const kept: string[] = [];
    for (const segment of one.split(/[/\\]/)) {
      if (segment === '..') kept.pop();
      else if (segment !== '.') kept.push(segment.toLowerCase());
    }
    const [first, ...others] = kept.filter((segment, i) => segment !== '' || kept.slice(0, i).some(Boolean));
    return ['oauth2', 'providers'].includes(first!) && others.length > 0;
  });
}

function isPort(port: string | undefined): boolean {
  return port === undefined || (/^\d{1,5}$/.test(port) && Number(port) <= 65_535);
}
