import type { ProviderMode, ProviderSettings } from '../config/settings/settings.js';

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
}

/** Only `contract` requires pages that may be framed (spec §4.5.1), so it alone has `iframe` by default. */
export function listed({ name, adapter, mode, label }: ProviderSettings): ListedProvider {
  return { name, mode: mode ?? (adapter === 'contract' ? 'iframe' : 'popup'), label: label ?? name };
}
