import { domainKey } from '../platform/config/urls/email-address.js';
import { OptionalText } from '../platform/http/parameters/parameter.js';
import type { ProviderMode, ProviderSettings } from '../platform/config/settings/settings.js';

/** What an application needs for one sign-in button. */
export class ListedProvider {
  /** For `provider` of GET /oauth2/authorize. */
  name!: string;

  /** How the provider's page should be shown. */
  mode!: ProviderMode;

  /** For people. */
  label!: string;
}

/** Answer of GET /oauth2/providers. */
export class ProviderList {
  providers!: ListedProvider[];

  /** True: ask users for their e-mail address first, since providers serve domains. */
  by_email?: true;
}

/** Query of GET /oauth2/providers. */
export class ProvidersDto {
  /**
   * E-mail address of a user, or `@` and its domain: the providers for this domain. Only the part after the
   * last `@` is read.
   */
  @OptionalText({ max: 320, matches: { pattern: /@[^\s@]+$/, as: 'an e-mail address, or @ and a domain' } })
  email?: string;
}

/** Returns the providers with this domain in `email_domains`; if there is none, those without the setting. */
export function servingDomain(providers: readonly ProviderSettings[], email: string): ProviderSettings[] {
  const domain = domainKey(email.slice(email.lastIndexOf('@') + 1));
  const own = providers.filter(({ emailDomains }) => emailDomains?.includes(domain));
  return own.length > 0 ? own : providers.filter(({ emailDomains }) => emailDomains === undefined);
}

/** Only `contract` requires pages that may be framed (spec §4.5.1), so it alone has `iframe` by default. */
export function listed({ name, adapter, mode, label }: ProviderSettings): ListedProvider {
  return { name, mode: mode ?? (adapter === 'contract' ? 'iframe' : 'popup'), label: label ?? name };
}
