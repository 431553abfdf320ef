import type { ProviderMode } from '../config/settings/settings.js';

/** Provider as the administration page shows it. */
export class AdministeredProvider {
  name!: string;

  /** For people. */
  label!: string;

  adapter!: string;

  /** Null: the adapter needs none. */
  url!: string | null;

  mode!: ProviderMode;

  /** To register at the provider. */
  redirect_uris!: string[];

  /** Whether it is the built-in sample provider, which needs no registration. */
  is_sample!: boolean;
}

/** Answer of GET /admin/providers. */
export class AdministeredProviders {
  providers!: AdministeredProvider[];
}
