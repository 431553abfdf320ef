import { providerSettings } from '../../test/support/stub-provider.js';
import type { ProviderSettings } from '../config/settings/settings.js';
import { listed } from './listed-provider.js';
import { ProvidersController } from './providers.controller.js';
import type { ProviderRegistry } from './provider.registry.js';

/** GET /oauth2/providers (contract §4): an iframe only if spec §4.5.1 requires that it works. */
describe('a provider in the list', () => {
  it.each<[string, Partial<ProviderSettings>, object]>([
    ['the contract', { adapter: 'contract' }, { mode: 'iframe', label: 'corp' }],
    ['another adapter', { adapter: 'oidc' }, { mode: 'popup', label: 'corp' }],
    ['an integrator’s adapter', { adapter: './a.js' }, { mode: 'popup', label: 'corp' }],
    ['a mode of its own', { adapter: 'contract', mode: 'redirect' }, { mode: 'redirect', label: 'corp' }],
    ['a name for people', { adapter: 'oidc', label: 'Corp' }, { mode: 'popup', label: 'Corp' }],
  ])('with %s', (_name, more, expected) => {
    expect(listed(providerSettings('corp', more))).toEqual({ name: 'corp', ...expected });
  });

  it('is told without its settings', () => {
    const list = (): ProviderSettings[] => [
      providerSettings('corp', { adapter: 'oidc', clientSecret: 's3cret' }),
      providerSettings('forum', { adapter: 'contract' }),
    ];
    const controller = new ProvidersController({ list } as unknown as ProviderRegistry);
    expect(JSON.parse(JSON.stringify(controller.listProviders()))).toEqual({
      providers: [
        { name: 'corp', mode: 'popup', label: 'corp' },
        { name: 'forum', mode: 'iframe', label: 'forum' },
      ],
    });
  });
});
