import type { ServerMetadata } from 'openid-client';
import type { ProviderSettings } from '../../config/settings/settings.js';

/** Milliseconds that a discovery document is used for. */
const LIFE = 3_600_000;

/**
 * The discovery documents of OpenID providers: fetched when first needed, never at start, so that a provider that is
 * away harms nobody else; kept for an hour, and asked for again after every failure. Concurrent callers share one request.
 */
export class OidcDiscovery {
  private readonly kept = new Map<string, { readonly until: number; metadata: Promise<ServerMetadata> }>();

  constructor(
    private readonly load: (provider: ProviderSettings) => Promise<ServerMetadata>,
    private readonly now: () => number = Date.now,
  ) {}

  of(provider: ProviderSettings): Promise<ServerMetadata> {
    const kept = this.kept.get(provider.name);
    if (kept && kept.until > this.now()) return kept.metadata;
    const metadata = this.load(provider);
    const entry = { until: this.now() + LIFE, metadata };
    this.kept.set(provider.name, entry);
    metadata.catch(() => {
      if (this.kept.get(provider.name) === entry) this.kept.delete(provider.name);
    });
    return metadata;
  }
}
