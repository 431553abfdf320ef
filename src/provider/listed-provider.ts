import { Expose, Type } from 'class-transformer';
import type { ProviderMode, ProviderSettings } from '../config/settings/settings.js';

/** What an application needs for one sign-in button (contract §4). */
export class ListedProvider {
  /** For `provider` of GET /oauth2/authorize. */
  @Expose()
  name!: string;

  /** How the provider's page should be shown. */
  @Expose()
  mode!: ProviderMode;

  /** For people. */
  @Expose()
  label!: string;
}

/** Answer of GET /oauth2/providers. */
export class ProviderList {
  @Expose()
  @Type(() => ListedProvider)
  providers!: ListedProvider[];
}

/** Only `contract` requires pages that may be framed (spec §4.5.1), so it alone has `iframe` by default. */
export function listed({ name, adapter, mode, label }: ProviderSettings): ListedProvider {
  return { name, mode: mode ?? (adapter === 'contract' ? 'iframe' : 'popup'), label: label ?? name };
}
