import { isEndpointUrl, isLoopbackUrl, isPublicAddress, isThisMachine } from '../urls/urls.js';
import { InvalidValue, list, type Parser } from './parsers.js';

/** Rules for what is called with a signature: webhooks, and other services of the operator. */
const CALLED_URLS = 'https:// URLs, or http:// URLs of loopback, without fragment and user info';

export const signingSecrets = atMost(
  5,
  list('whsec_ and 24 to 64 bytes as base64 (echo "whsec_$(openssl rand -base64 32)")', isSecret),
);

/** Whether a URL may be called with a signature. @public */
export function isCalledUrl(entry: string): boolean {
  return isEndpointUrl(entry) && (/^https:/i.test(entry) || isLoopbackUrl(entry));
}

/** Whether a URL's host is an address outside of the Internet, or localhost. Names are resolved later. */
export function namesPrivateAddress(url: string): boolean {
  const { hostname } = new URL(url);
  const [, bracketed] = /^\[(.*)\]$/.exec(hostname) ?? [];
  // URL parsing has normalized 127.1 and 0x7f.1
  const isAddress = bracketed !== undefined || /^[\d.]+$/.test(hostname);
  return isAddress ? !isPublicAddress(bracketed ?? hostname) : isThisMachine(url);
}

function atMost(most: number, { accepts, parse }: Parser<readonly string[]>): Parser<readonly string[]> {
  return {
    accepts: `${accepts}, ${most} at most`,
    parse: (value) => {
      const entries = [...new Set(parse(value))];
      if (entries.length > most) throw new InvalidValue(value);
      return entries;
    },
  };
}

function isSecret(entry: string): boolean {
  const [, text = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(entry) ?? [];
  const bytes = Buffer.from(text, 'base64');
  return bytes.length >= 24 && bytes.length <= 64 && bytes.toString('base64') === text;
}

/** Addresses of WEBHOOK_URLS, each once; every address has its own sender. */
export const webhookUrls = atMost(20, list(CALLED_URLS, isCalledUrl));

/** Which of them exist, features know: `eventNames`. */
export const webhookEvents = list('names of audit events', (entry) => /^[a-z_]+$/.test(entry));

/** @param names of all audit events, of features as well */
export function eventNames(names: readonly string[]): Parser<readonly string[]> {
  return list(`names of audit events (${names.join(', ')})`, (entry) => names.includes(entry));
}
