import { ListedProvider } from '../../provider/listed-provider.js';

/** Provider as the administration page shows it. */
export class AdministeredProvider extends ListedProvider {
  adapter!: string;

  /** Null: the adapter needs none. */
  url!: string | null;

  /** Setting `allow`: who may sign in. Null: everyone whom the provider sends. */
  allow!: string | null;

  /** Whether a directory synchronises its users (docs/directory.md). */
  has_directory!: boolean;

  /** To register at the provider. */
  redirect_uris!: string[];

  /** Whether it is the built-in provider, which needs no registration. */
  is_sample!: boolean;
}

/** Answer of GET /admin/providers. */
export class AdministeredProviders {
  providers!: AdministeredProvider[];
}
