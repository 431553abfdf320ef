import { isIPv4, isIPv6 } from 'node:net';

// Some proxies add the client's port, which differs with every connection.
const BRACKETS_OR_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/;

/**
 * Whom a limit is for: an IPv4 address, or the /64 of an IPv6 address, since one subscriber has at least that many.
 * An IPv4 address that is mapped into IPv6 (RFC 4291 §2.5.5.2) is the IPv4 address.
 *
 * @param ip as Express has it; behind a proxy, text that somebody else wrote
 * @returns `unknown` for whatever is no address: such requests share one count
 */
export function networkOf(ip = ''): string {
  if (isIPv4(ip)) return ip;
  const [, bracketed, withPort] = BRACKETS_OR_PORT.exec(ip) ?? [];
  const address = bracketed ?? withPort ?? ip;
  if (isIPv4(address)) return address;
  if (!isIPv6(address)) return 'unknown';
  const groups = groupsOf(address);
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (mapped) return [groups[6]! >> 8, groups[6]! & 0xff, groups[7]! >> 8, groups[7]! & 0xff].join('.');
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** The /16 of an IPv4 address, the /32 of an IPv6 network as `networkOf` has them; any other key as it is. */
export function widerNetworkOf(network: string): string {
  if (isIPv4(network)) return `${network.split('.').slice(0, 2).join('.')}.0.0/16`;
  return network.endsWith('::/64') ? `${network.split(':').slice(0, 2).join(':')}::/32` : network;
}

/** The eight numbers of an IPv6 address (RFC 4291 §2.2), without its zone. */
function groupsOf(ipv6: string): number[] {
  const [address = ''] = ipv6.split('%');
  const [left = [], right = []] = address.split('::').map(halfOf);
  const zeros = Array<number>(8 - left.length - right.length).fill(0);
  return [...left, ...zeros, ...right];
}

function halfOf(half: string): number[] {
  return half
    .split(':')
    .filter((group) => group !== '')
    .flatMap((group) => (group.includes('.') ? dotted(group) : parseInt(group, 16)));
}

function dotted(ipv4: string): number[] {
  const [a = 0, b = 0, c = 0, d = 0] = ipv4.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}
