import { isEndpointUrl, isLoopbackUrl, isPublicAddress, isThisMachine } from '../urls/urls.js';
import { AUDIT_NAMES } from './audit-names.js';
import { list, InvalidValue, type Parser } from './parsers.js';

/** Addresses of WEBHOOK_URLS, each once; every address has its own sender. */
export const webhookUrls = atMost(
  20,
  list('https:// URLs, or http:// URLs of loopback, without fragment and user info', isWebhookUrl),
);

export const webhookSecrets = atMost(
  5,
  list('whsec_ and 24 to 64 bytes as base64 (echo "whsec_$(openssl rand -base64 32)")', isSecret),
);

export const auditNames = list(`names of audit events (${AUDIT_NAMES.join(', ')})`, (entry) =>
  AUDIT_NAMES.some((name) => name === entry),
);

/** Refusals, which strangers cause, only on request. */
export const DEFAULT_EVENTS: readonly string[] = AUDIT_NAMES.filter((name) => !name.endsWith('_refused'));

/**
 * Whether the host of a URL is an address outside of the Internet, or a name of localhost. Other names are
 * resolved for each connection.
 */
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

function isWebhookUrl(entry: string): boolean {
  return isEndpointUrl(entry) && (/^https:/i.test(entry) || isLoopbackUrl(entry));
}

function isSecret(entry: string): boolean {
  const [, text = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(entry) ?? [];
  const bytes = Buffer.from(text, 'base64');
  return bytes.length >= 24 && bytes.length <= 64 && bytes.toString('base64') === text;
}
