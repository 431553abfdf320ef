import { isLoopbackUrl, parseUrl } from '../config/urls.js';

/**
 * A comparison with an address of ours, without query and fragment (RFC 9449 §4.3, 9), both normalized as URLs are.
 *
 * @param own absolute and normalized
 * @param loopback whether all names of the loopback interface are the same
 */
export function sameEndpoint(own: string, { loopback }: { loopback: boolean }): (address: string) => boolean {
  const ours = new URL(own);
  const isHere = loopback && isLoopbackUrl(own);
  return (address) => {
    if (address === own) return true; // as almost everybody writes it
    const url = parseUrl(address);
    if (!url) return false;
    const { protocol, hostname, port, pathname, username, password } = url;
    const sameHost = hostname === ours.hostname || (isHere && isLoopbackUrl(address));
    const same = protocol === ours.protocol && port === ours.port && pathname === ours.pathname;
    return same && sameHost && username === '' && password === '';
  };
}
