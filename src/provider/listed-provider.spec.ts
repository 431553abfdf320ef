import { providerSettings } from '../../test/support/stub-provider.js';
import type { ProviderSettings } from '../config/settings/settings.js';
import { listed } from './listed-provider.js';

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
});
