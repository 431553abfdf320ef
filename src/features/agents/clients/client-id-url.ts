import { isLoopbackUrl, parseUrl } from '../../../platform/config/urls/urls.js';

const LONGEST = 2048;

/**
 * Whether a `client_id` is the URL of a client ID metadata document: written exactly as `new URL()` writes it
 * (ASCII host, no default port), with a path, without query, fragment or user info; https, outside production
 * also http on loopback.
 */
export function isClientIdUrl(text: string, isProduction: boolean): boolean {
  if (text.length > LONGEST || !/^https?:\/\//.test(text)) return false;
  const url = parseUrl(text);
  if (!url || url.href !== text || /[?#]/.test(text)) return false;
  if (url.pathname === '/' || url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (!isProduction && isLoopbackUrl(text));
}
