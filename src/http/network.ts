import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { IncomingMessage } from 'node:http';
import express, { type Express } from 'express';

const IP = Object.getOwnPropertyDescriptor(express.request, 'ip')!;

/**
 * The address of a client as Express's `request.ip` has it, which honours `trust proxy`. Works also for a message that
 * Express has never seen, such as the handshake of a socket.
 *
 * @param app whose `trust proxy` counts
 * @returns undefined where the connection is closed already
 */
export function clientAddress({ headers, socket }: IncomingMessage, app: Express): string | undefined {
  // Just what Express's getter looks at. If the object inherited from the message, V8 would give each message a shape of its
  // own: some KiB for as long as the socket lives.
  return IP.get!.call({ app, headers, socket, connection: socket }) as string | undefined;
}

// Some proxies add the client's port, which differs with every connection.
const BRACKETS_OR_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/;

/**
 * What a limit counts by: an IPv4 address, or the /64 of an IPv6 address, since one subscriber has at least a /64.
 * An IPv4 address that is mapped into IPv6 (RFC 4291 §2.5.5.2) counts as the IPv4 address; so does `::a.b.c.d` (§2.5.5.1),
 * a form that no host has any more.
 *
 * @param ip as Express has it; behind a proxy, text that somebody else wrote
 * @returns `unknown` for text that is not an address: such requests share one count
 */
export function networkOf(ip = ''): string {
  const [, bracketed, withPort] = BRACKETS_OR_PORT.exec(ip) ?? [];
  const text = bracketed ?? withPort ?? ip;
  // Judged by Node.js: ipaddr.js throws for text that is not an address, and takes 2130706433 or 010.0x7f.1 for one.
  const version = isIP(text);
  if (version === 0) return 'unknown';
  if (version === 4) return text;
  const [address = ''] = text.split('%'); // without the zone, in which ipaddr.js allows only letters and digits
  const parsed = ipaddr.IPv6.parse(address);
  if (parsed.isIPv4MappedAddress()) return parsed.toIPv4Address().toString();
  return `${parsed.toNormalizedString().split(':').slice(0, 4).join(':')}::/64`;
}

/** The /16 of an IPv4 address, the /32 of an IPv6 network as `networkOf` has them; any other key as it is. */
export function widerNetworkOf(network: string): string {
  if (isIPv4(network)) return `${network.split('.').slice(0, 2).join('.')}.0.0/16`;
  return network.endsWith('::/64') ? `${network.split(':').slice(0, 2).join(':')}::/32` : network;
}
