import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { IncomingMessage } from 'node:http';
import express, { type Express, type Request } from 'express';
import type { Settings } from '../config/settings/settings.js';

const IP = Object.getOwnPropertyDescriptor(express.request, 'ip')!;

/** Returns the address as Express's `request.ip` has it, also for handshakes, which do not pass Express. */
export function clientAddress({ headers, socket }: IncomingMessage, app: Express): string | undefined {
  // A plain object: as the prototype of one, each message would get a V8 shape, some KiB.
  return IP.get!.call({ app, headers, socket, connection: socket }) as string | undefined;
}

// Some proxies add the client's port.
const BRACKETS_OR_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/;

/** Returns an address: short IPv6 without zone; IPv4 if mapped into IPv6 or `::a.b.c.d` (RFC 4291 §2.5.5). */
function addressIn(ip = ''): string | undefined {
  const [, bracketed, withPort] = BRACKETS_OR_PORT.exec(ip) ?? [];
  const text = bracketed ?? withPort ?? ip;
  // By Node.js: ipaddr.js throws for text that is not an address, and accepts 2130706433 or 010.0x7f.1.
  const version = isIP(text);
  if (version === 0) return undefined;
  if (version === 4) return text;
  const [address = ''] = text.split('%'); // without the zone: ipaddr.js accepts only letters and digits there
  const parsed = ipaddr.IPv6.parse(address);
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address().toString() : parsed.toString();
}

/** Returns the key of rate limits: an IPv4 address, an IPv6 /64, or for other text `unknown`. */
export function networkOf(ip?: string): string {
  const address = addressIn(ip);
  if (address === undefined) return 'unknown';
  return isIPv4(address) ? address : `${groupsOf(address, 4)}::/64`;
}

/** Widens a result of `networkOf` to the /16 (IPv4) or the /32 (IPv6); returns any other key unchanged. */
export function widerNetworkOf(network: string): string {
  if (isIPv4(network)) return `${network.split('.').slice(0, 2).join('.')}.0.0/16`;
  return network.endsWith('::/64') ? `${network.split(':').slice(0, 2).join(':')}::/32` : network;
}

/** Express setting with the value of `AUDIT_ADDRESSES`. */
export const STORED_ADDRESSES = 'stored addresses';

/** Returns a client's address as AUDIT_ADDRESSES allows: whole, as /24 (IPv4) or /48 (IPv6), or null. */
export function storedAddress({ ip, app }: Pick<Request, 'ip' | 'app'>): string | null {
  const precision = app.get(STORED_ADDRESSES) as Settings['auditAddresses'];
  const address = precision === 'off' ? undefined : addressIn(ip);
  if (address === undefined || precision === 'full') return address ?? null;
  return storedNetwork(address);
}

/** Returns an address or network (`192.0.2.0/24`, `2001:db8::/48`) as events have it; else undefined. */
export function soughtAddress(text: string, precision: Settings['auditAddresses']): string | undefined {
  const [, network, bits] = /^([\da-f:.]+)\/(24|48)$/i.exec(text) ?? [];
  const address = addressIn(network ?? text);
  if (address === undefined || (bits && bits !== (isIPv4(address) ? '24' : '48'))) return undefined;
  return bits || precision === 'network' ? storedNetwork(address) : address;
}

function storedNetwork(address: string): string {
  return isIPv4(address)
    ? `${address.split('.').slice(0, 3).join('.')}.0/24`
    : `${groupsOf(address, 3)}::/48`;
}

function groupsOf(address: string, count: number): string {
  return ipaddr.IPv6.parse(address).toNormalizedString().split(':').slice(0, count).join(':');
}
