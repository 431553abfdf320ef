import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Addresses that are assigned on the Internet (RFC 4291 §2.4); ipaddr.js calls the rest of IPv6 unicast, too. */
const GLOBAL = ipaddr.IPv6.parseCIDR('2000::/3');
/** IPv4 addresses behind a translator (RFC 6052 §2.1): networks with IPv6 only reach IPv4 by them. */
const TRANSLATED = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/**
 * Whether a text is an address on the Internet: not private, shared (RFC 6598), loopback, link-local, multicast or reserved. An IPv4
 * address within an IPv6 address counts as the IPv4 address.
 */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0) return false;
  const address = ipaddr.process(text.split('%')[0]!);
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast';
  if (address.match(TRANSLATED)) {
    return new ipaddr.IPv4(address.toByteArray().slice(12)).range() === 'unicast';
  }
  return address.match(GLOBAL) && address.range() === 'unicast';
}
