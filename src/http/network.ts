import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { IncomingMessage } from 'node:http';
import express, { type Express } from 'express';

const IP = Object.getOwnPropertyDescriptor(express.request, 'ip')!;

/**
 * Returns the address of a client like Express's `request.ip`, which honours `trust proxy`, also for requests that do not pass
 * Express, such as handshakes of sockets.
 *
 * @param app with the setting `trust proxy`
 * @returns undefined if the connection is closed
 */
export function clientAddress({ headers, socket }: IncomingMessage, app: Express): string | undefined {
  // A plain object with what the getter reads. As the prototype of an object, each message would get a V8 shape, some KiB.
  return IP.get!.call({ app, headers, socket, connection: socket }) as string | undefined;
}

// Some proxies add the client's port.
const BRACKETS_OR_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/;

/**
 * Returns the key of rate limits: an IPv4 address, or the /64 of an IPv6 address, since a subscriber has at least a /64.
 * An IPv4 address that is mapped into IPv6 (RFC 4291 §2.5.5.2) counts as the IPv4 address; so does `::a.b.c.d` (§2.5.5.1).
 *
 * @param ip of Express; behind a proxy, arbitrary text
 * @returns `unknown` for text that is not an address: such requests share one count
 */
export function networkOf(ip = ''): string {
  const [, bracketed, withPort] = BRACKETS_OR_PORT.exec(ip) ?? [];
  const text = bracketed ?? withPort ?? ip;
  // By Node.js: ipaddr.js throws for text that is not an address, and accepts 2130706433 or 010.0x7f.1.
  const version = isIP(text);
  if (version === 0) return 'unknown';
  if (version === 4) return text;
  const [address = ''] = text.split('%'); // without the zone: ipaddr.js accepts only letters and digits there
  const parsed = ipaddr.IPv6.parse(address);
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  return `${parsed.toNormalizedString().split(':').slice(0, 4).join(':')}::/64`;
}

/** Widens a result of `networkOf` to the /16 (IPv4) or the /32 (IPv6); returns any other key unchanged. */
export function widerNetworkOf(network: string): string {
  if (isIPv4(network)) return `${network.split('.').slice(0, 2).join('.')}.0.0/16`;
  return network.endsWith('::/64') ? `${network.split(':').slice(0, 2).join(':')}::/32` : network;
}
