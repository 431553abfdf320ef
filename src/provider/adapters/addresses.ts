import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import { parseUrl } from '../../platform/config/urls/urls.js';
import type { Metadata } from './used-members.js';

type Settings = Pick<ProviderSettings, 'url' | 'issuer'>;

const OF_BROWSERS = ['authorization_endpoint', 'end_session_endpoint'];
const OF_THE_SERVICE = [
  'token_endpoint',
  'userinfo_endpoint',
  'jwks_uri',
  'pushed_authorization_request_endpoint',
];

/** Returns the issuer that tokens and the discovery document must name. */
export function nameOf({ url = '', issuer = url }: Settings): string {
  return withoutSlash(issuer);
}

/**
 * Separates name and address (docs/providers.md#a-public-name-and-an-inner-address). Browsers are sent to the
 * public name, the service asks the inner address. An address of another host stays as announced.
 */
export function reachable(provider: Settings, metadata: Metadata): Metadata {
  const { url = '', issuer } = provider;
  if (issuer === undefined) return metadata;
  const members = metadata as Readonly<Record<string, unknown>>;
  const changed = (names: readonly string[], from: string, to: string): [string, string][] =>
    names.flatMap((name) => {
      const address = members[name];
      return typeof address === 'string' ? [[name, moved(address, from, to)]] : [];
    });
  const name = nameOf(provider);
  return {
    ...metadata,
    ...Object.fromEntries([...changed(OF_BROWSERS, url, name), ...changed(OF_THE_SERVICE, name, url)]),
  };
}

/** Returns the address that the service asks, of one that the provider announces. @public */
export function reachableAddress(provider: Settings, address: string): string {
  const { url = '', issuer } = provider;
  return issuer === undefined ? address : moved(address, nameOf(provider), url);
}

/**
 * Whether secrets may be sent to an address: https, or http if the issuer or `url` with this host is http.
 */
export function isSafe(address: string, { url }: Settings, issuer: string): boolean {
  const { protocol, origin } = parseUrl(address) ?? {};
  if (protocol === 'https:') return true;
  return protocol === 'http:' && (isHttp(issuer) || (isHttp(url) && parseUrl(url)?.origin === origin));
}

/** Whether a browser may be sent to an address: https if the issuer is. */
export function isSafeForBrowsers(address: string, issuer: string): boolean {
  const { protocol } = parseUrl(address) ?? {};
  return protocol === 'https:' || (protocol === 'http:' && isHttp(issuer));
}

/** The settings allow http only on loopback or outside production. */
function isHttp(url = ''): url is string {
  return /^http:/i.test(url);
}

/** Below `from` the rest of the path is kept; elsewhere on its host, the whole path. */
function moved(address: string, from: string, to: string): string {
  if (address.startsWith(`${from}/`)) return to + address.slice(from.length);
  const [at, origin, target] = [address, from, to].map((text) => parseUrl(text));
  if (!at || !target || at.origin !== origin?.origin) return address;
  return target.origin + at.pathname + at.search;
}

function withoutSlash(issuer: string): string {
  return issuer.replace(/\/$/, '');
}
