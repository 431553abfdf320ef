// All spellings (127.1, 0x7f.1, 2130706433, ::ffff:127.0.0.2) as URL parsing returns them: 127.0.0.0/8, ::1, and
// 127.0.0.0/8 mapped into IPv6.
const ADDRESS = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/;
// Connections to it end at this machine as well.
const UNSPECIFIED = /^(?:0\.0\.0\.0|\[::\]|\[::ffff:0:0\])$/;
// RFC 6761 §6.3: the name and all names below it, also with the final dot of the DNS root.
const NAME = /^(?:[^.]+\.)*localhost\.?$/;

/**
 * Whether a request to an absolute URL cannot leave this machine, so that it needs no TLS: a loopback address, or
 * `localhost`. No other name is safe: resolvers ask the network for `app.localhost`, whatever RFC 6761 says.
 */
export function isLoopbackUrl(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || ADDRESS.test(hostname);
}

/** Whether an absolute URL means this machine, in any spelling; on another machine, a proxy for example, it means that one. */
export function isThisMachine(url: string): boolean {
  const { hostname } = new URL(url);
  return [ADDRESS, UNSPECIFIED, NAME].some((form) => form.test(hostname));
}
