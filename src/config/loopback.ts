// What URL parsing makes of every spelling (127.1, 0x7f.1, 2130706433, ::ffff:127.0.0.2): 127.0.0.0/8, ::1, and the
// former as IPv6.
const ADDRESS = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/;
// Connections to it end at this machine as well.
const UNSPECIFIED = /^(?:0\.0\.0\.0|\[::\]|\[::ffff:0:0\])$/;
// RFC 6761 §6.3: the name and all below it, also with the dot of the root.
const NAME = /^(?:[^.]+\.)*localhost\.?$/;

/**
 * Whether what is sent to an absolute URL cannot leave this machine, so that it needs no TLS: a loopback address, or
 * `localhost`. No other name will do: resolvers ask the network for `app.localhost`, whatever RFC 6761 says.
 */
export function isLoopbackUrl(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || ADDRESS.test(hostname);
}

/** Whether an absolute URL means this machine, in any of its spellings: another one, as a proxy is, has no use for it. */
export function isThisMachine(url: string): boolean {
  const { hostname } = new URL(url);
  return [ADDRESS, UNSPECIFIED, NAME].some((form) => form.test(hostname));
}
