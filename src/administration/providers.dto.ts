import { ListedProvider } from '../provider/listed-provider.js';

/** Provider as the administration page shows it. */
export class AdministeredProvider extends ListedProvider {
  adapter!: string;

  /** Null: the adapter needs none. */
  url!: string | null;

  /** To register at the provider. */
  redirect_uris!: string[];

  /** Whether it is the built-in sample provider, which needs no registration. */
  is_sample!: boolean;
}

/** Answer of GET /admin/providers. */
export class AdministeredProviders {
  providers!: AdministeredProvider[];
}
