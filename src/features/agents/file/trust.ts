import { isClientIdUrl } from '../clients/client-id-url.js';
import type { EntryParser } from './file-errors.js';

/** Accepts a client-ID URL. */
type Rule = (url: URL) => boolean;
const ALL: Rule = () => true;

const HOST = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;

/** Which client-ID URLs are accepted. Others are never fetched. */
export class Trust {
  constructor(private readonly rules: readonly Rule[]) {}

  get isEmpty(): boolean {
    return this.rules.length === 0;
  }

  get isOfAll(): boolean {
    return this.rules.includes(ALL);
  }

  accepts(clientId: string): boolean {
    const url = new URL(clientId);
    return this.rules.some((rule) => rule(url));
  }
}

export function trustEntry(isProduction: boolean): EntryParser<Rule> {
  return {
    accepts: 'a host (claude.ai), *.example.com, a whole client-ID URL, or *',
    parse(entry) {
      if (entry === '*') return ALL;
      if (isClientIdUrl(entry, isProduction)) return ({ href }) => href === entry;
      const host = entry.toLowerCase();
      const above = host.startsWith('*.') ? host.slice(1) : undefined;
      if (!HOST.test(above?.slice(1) ?? host)) return undefined;
      return above === undefined
        ? ({ hostname }) => hostname === host
        : ({ hostname }) => hostname.endsWith(above);
    },
  };
}
