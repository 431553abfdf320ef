import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';
import { parser } from '../settings/parsers.js';

const VARIABLES = ['http_proxy', 'https_proxy', 'all_proxy']; // axios reads these in lower and upper case

/** Whether the environment names a proxy, regardless of NO_PROXY. */
export function namesProxy(): boolean {
  return VARIABLES.some((name) => process.env[name] || process.env[name.toUpperCase()]);
}

/**
 * Whether NO_PROXY names a domain above the host of a URL. As in curl and Go, `corp.test` covers
 * `sso.corp.test`. axios supports all other forms, but compares such names as a whole.
 */
export function isBelowNoProxy(url: string): boolean {
  const { hostname, port, protocol } = new URL(url);
  const [host, usual] = [hostname.replace(/\.$/, ''), protocol === 'https:' ? '443' : '80'];
  if (isIP(host) !== 0) return false;
  const list = process.env['no_proxy'] || process.env['NO_PROXY'] || '';
  return list.split(/[\s,]+/).some((entry) => {
    const [, name = '', ofPort = port || usual] = /^([^:/*.[][^:/*]*)(?::(\d+))?$/.exec(entry) ?? [];
    const domain = domainToASCII(name.replace(/\.$/, ''));
    return domain !== '' && host.endsWith(`.${domain}`) && ofPort === (port || usual);
  });
}

// RFC 3986 §2 without `#`: no fragment, no space, no control character, no backslash, ASCII only.
const CHARACTERS = /^[A-Za-z0-9\-._~:/?[\]@!$&'()*+,;=%]+$/;
// Both slashes and a host: URL parsers forgive `http:evil.example` and `http:///evil.example`.
const HTTP = /^https?:\/\/([^/?]+)/i;
// RFC 8252 §7.1, §8.4: an app's own scheme is a reversed domain name, so it has a dot;
// `javascript:`, `data:`, `file:` and all other schemes that browsers know have none.
const PRIVATE = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:\/(?:\/([^/?]+))?/;

/** A base address: http(s), no query, fragment or user info; normalized, one trailing slash dropped. */
export const baseUrl = parser(
  'an absolute http:// or https:// URL without query, fragment and user info',
  (value) => {
    if (!/^https?:\/\/[^/\\?#@\s]+(?:\/[^\\?#\s]*)?$/i.test(value)) return undefined;
    return parseUrl(value)?.href.replace(/\/$/, '');
  },
);

/** The origin of a service, without a path, since it cannot answer below one; normalized. */
export const origin = parser('an origin, http:// or https:// with host and port, and no path', (value) => {
  if (!/^https?:\/\/[^/\\?#@\s]+\/?$/i.test(value)) return undefined;
  const normalized = parseUrl(value)?.origin ?? '';
  // URL parsers let quotes, `&` and `$` pass in a host, which openapi.controller.ts writes into JSON.
  return /^https?:\/\/[\w.:[\]-]+$/.test(normalized) ? normalized : undefined;
});

export const endpointUrl = parser(
  'an absolute http:// or https:// URL without fragment and user info',
  (value) => (isEndpointUrl(value) ? value : undefined),
);

export function isEndpointUrl(text: string): boolean {
  return /^https?:\/\/[^/\\?#@\s]+(?:[/?][^\\#\s]*)?$/i.test(text) && parseUrl(text) !== undefined;
}

export function isRedirectUri(text: string): boolean {
  return isHttpUri(text) || isUri(text, PRIVATE);
}

/** Whether a text is an absolute http(s) URL that a browser may be sent to: no user info, no fragment. */
export function isHttpUri(text: string): boolean {
  return isUri(text, HTTP);
}

/** Whether a text is an origin as browsers send it (RFC 6454 §6.1); apps have other schemes than http. */
export function isOrigin(text: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/\\?#@*\s]+$/.test(text)) return false;
  const url = parseUrl(text);
  return url !== undefined && (!/^https?:/.test(text) || url.origin === text);
}

function isUri(text: string, form: RegExp): boolean {
  const match = CHARACTERS.test(text) ? form.exec(text) : null;
  return match !== null && !match[1]?.includes('@') && URL.canParse(text);
}

// All spellings (127.1, 0x7f.1, 2130706433, ::ffff:127.0.0.2) as URL parsing returns them: 127.0.0.0/8, ::1,
// and 127.0.0.0/8 mapped into IPv6.
const ADDRESS = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/;
const UNSPECIFIED = /^(?:0\.0\.0\.0|\[::\]|\[::ffff:0:0\])$/; // connections to it end at this machine as well
// RFC 6761 §6.3: the name and all names below it, also with the final dot of the DNS root.
const NAME = /^(?:[^.]+\.)*localhost\.?$/;

/** Whether a request stays here and needs no TLS. Resolvers ask the network for `app.localhost`. */
export function isLoopbackUrl(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || ADDRESS.test(hostname);
}

/** Whether an absolute URL names the machine that resolves it, in any spelling. */
export function isThisMachine(url: string): boolean {
  const { hostname } = new URL(url);
  return [ADDRESS, UNSPECIFIED, NAME].some((form) => form.test(hostname));
}

/** Node 22: without `URL.canParse`, which refuses letters like ä after some thousand calls. */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** Addresses assigned on the Internet (RFC 4291 §2.4); ipaddr.js calls the rest of IPv6 unicast, too. */
const GLOBAL = ipaddr.IPv6.parseCIDR('2000::/3');
/** IPv4 addresses behind a translator (RFC 6052 §2.1): networks with IPv6 only reach IPv4 by them. */
const TRANSLATED = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/**
 * Whether a text is an address on the Internet: not private, shared (RFC 6598), loopback, link-local,
 * multicast or reserved. An IPv4 address within an IPv6 address counts as the IPv4 address.
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
