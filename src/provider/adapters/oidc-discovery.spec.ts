import type { ProviderSettings } from '../../config/settings/settings.js';
import { OidcDiscovery } from './oidc-discovery.js';

const provider = { name: 'corp' } as ProviderSettings;
const other = { name: 'other' } as ProviderSettings;

describe('discovery documents', () => {
  let now = 0;
  let asked: string[];
  let away: boolean;
  let discovery: OidcDiscovery;
  beforeEach(() => {
    [now, asked, away] = [0, [], false];
    discovery = new OidcDiscovery(
      async ({ name }) => {
        asked.push(name);
        const isAway = away;
        await Promise.resolve();
        if (isAway) throw new Error('away');
        return { issuer: name };
      },
      () => now,
    );
  });

  it('are fetched once for each provider, and shared by all callers', async () => {
    const all = await Promise.all([provider, provider, other].map((one) => discovery.of(one)));
    expect(all.map(({ issuer }) => issuer)).toEqual(['corp', 'corp', 'other']);
    expect(asked).toEqual(['corp', 'other']);
  });

  it('are kept for an hour', async () => {
    await discovery.of(provider);
    now = 3_599_999;
    await discovery.of(provider);
    expect(asked).toHaveLength(1);
    now = 3_600_000;
    await discovery.of(provider);
    expect(asked).toHaveLength(2);
  });

  it('stay when an older request fails late', async () => {
    away = true;
    const first = discovery.of(provider);
    away = false;
    now = 3_600_000;
    const second = discovery.of(provider);
    await expect(first).rejects.toThrow('away');
    expect(discovery.of(provider)).toBe(second);
    expect(asked).toHaveLength(2);
  });

  it('are fetched again after a failure', async () => {
    away = true;
    await expect(Promise.all([discovery.of(provider), discovery.of(provider)])).rejects.toThrow('away');
    expect(asked).toHaveLength(1);
    away = false;
    await expect(discovery.of(provider)).resolves.toEqual({ issuer: 'corp' });
  });
});
