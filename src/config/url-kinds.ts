import { kind } from './kinds.js';
import { parseUrl } from './parse-url.js';

// RFC 3986 §2 without `#`: no fragment, no space, no control character, no backslash, ASCII only.
const CHARACTERS = /^[A-Za-z0-9\-._~:/?[\]@!$&'()*+,;=%]+$/;
// Both slashes and a host: URL parsers forgive `http:evil.example` and `http:///evil.example`.
const HTTP = /^https?:\/\/([^/?]+)/i;
// RFC 8252 §7.1, §8.4: an app's own scheme is a reversed domain name, so it has a dot;
// `javascript:`, `data:`, `file:` and all other schemes that browsers know have none.
const PRIVATE = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:\/(?:\/([^/?]+))?/;

/** A base address: http(s), no query, fragment or user info; normalized, one trailing slash dropped. */
export const baseUrl = kind(
  'an absolute http:// or https:// URL without query, fragment and user info',
  (value) => {
    if (!/^https?:\/\/[^/\\?#@\s]+(?:\/[^\\?#\s]*)?$/i.test(value)) return undefined;
    return parseUrl(value)?.href.replace(/\/$/, '');
  },
);

/** The origin of a service, without a path, since it cannot answer below one; normalized. */
export const origin = kind('an origin, http:// or https:// with host and port, and no path', (value) => {
  if (!/^https?:\/\/[^/\\?#@\s]+\/?$/i.test(value)) return undefined;
  const normalized = parseUrl(value)?.origin ?? '';
  // URL parsers let quotes, `&` and `$` pass in the name of a host; it is written into JSON and HTML (openapi/served-file.ts).
  return /^https?:\/\/[\w.:[\]-]+$/.test(normalized) ? normalized : undefined;
});

/** One address of a provider: http(s), no fragment or user info; kept as it is. */
export const endpointUrl = kind(
  'an absolute http:// or https:// URL without fragment and user info',
  (value) =>
    /^https?:\/\/[^/\\?#@\s]+(?:[/?][^\\#\s]*)?$/i.test(value) && parseUrl(value) ? value : undefined,
);

/** Whether a text may be in an allow-list: an absolute http(s) URL, or a URI of a private scheme. */
export function isRedirectUri(text: string): boolean {
  return isHttpUri(text) || isUri(text, PRIVATE);
}

/** Whether a text is an absolute http(s) URL that a browser may be sent to: no user info, no fragment. */
export function isHttpUri(text: string): boolean {
  return isUri(text, HTTP);
}

/** Whether a text is an origin as browsers send it (RFC 6454 §6.1); apps in a web view have schemes of their own. */
export function isOrigin(text: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/\\?#@*\s]+$/.test(text)) return false;
  const url = parseUrl(text);
  return url !== undefined && (!/^https?:/.test(text) || url.origin === text);
}

function isUri(text: string, form: RegExp): boolean {
  const match = CHARACTERS.test(text) ? form.exec(text) : null;
  return match !== null && !match[1]?.includes('@') && URL.canParse(text);
}
