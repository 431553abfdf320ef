import type { WithHeaders } from '../token/bearer.js';

/** A request of a browser: a `Request`, Node.js's `IncomingMessage`, or any object with these members. */
export interface PageRequest extends WithHeaders {
  readonly method?: string | undefined;
  /** Absolute, or as Node.js has it: path and query. */
  readonly url?: string | undefined;
}

/** Returns a header; undefined without, or if it came more than once. */
export function headerOf({ headers }: WithHeaders, name: string): string | undefined {
  const value: unknown =
    typeof headers.get === 'function'
      ? headers.get(name)
      : (headers as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' ? value : undefined;
}

/** With a port, if the proxy adds it. */
const ADDRESS = /^[\da-fA-F.:]{2,45}$/;
/** Proxies of a chain. */
const MOST_ADDRESSES = 10;

/**
 * Returns the user's address as the application's proxy sends it, or the addresses of a chain of proxies. Only the end of the header is
 * used: the user may have sent the beginning, to which proxies add.
 * @param name of the header
 */
export function addressOf(request: WithHeaders, name: string | undefined): string | undefined {
  const value = (name === undefined ? undefined : headerOf(request, name)) ?? '';
  const last = value
    .slice(-50 * MOST_ADDRESSES)
    .split(',')
    .slice(-MOST_ADDRESSES);
  const addresses = last.map((one) => one.replaceAll(/^[ \t]+|[ \t]+$/g, ''));
  const trusted = addresses.slice(addresses.findLastIndex((one) => !ADDRESS.test(one)) + 1);
  return trusted.length > 0 ? trusted.join(', ') : undefined;
}

/**
 * Returns whether a request was caused by a page of this origin, by what the browser says (Fetch Metadata, RFC 6454 §7).
 * @returns undefined if the request does not say: no browser sends a POST like that
 */
export function isFromOrigin(request: PageRequest, origin: string): boolean | undefined {
  // Before `Origin`, which is `null` if the page has the policy `no-referrer`. `none`: the user, by the address bar.
  const site = headerOf(request, 'sec-fetch-site');
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  const from = headerOf(request, 'origin');
  return from === undefined ? undefined : from === origin;
}

/** Set by browsers, by scripts (`Purpose`), and by links of Next.js. */
const PREFETCH = ['sec-purpose', 'purpose', 'next-router-prefetch'];

/** Returns whether the browser loads something ahead, without a person who wants it now. */
export function isPrefetch(request: WithHeaders): boolean {
  return PREFETCH.some((name) => /prefetch|^1$/.test(headerOf(request, name) ?? ''));
}

const SAFE: readonly unknown[] = ['GET', 'HEAD', 'OPTIONS', undefined];

/** Returns whether a page of another origin causes a request that may change something (CSRF). */
export function isForged(request: PageRequest, origin: string): boolean {
  return !SAFE.includes(request.method) && isFromOrigin(request, origin) === false;
}
