import type { Feature } from '../../extensions.js';
import { openIdProviders } from '../../platform/config/providers/presets.js';
import { SignalAccount } from './effect/signal-account.entity.js';
import { SignalSubject } from './effect/signal-subject.entity.js';

/** Logout tokens, security events and revocations, which providers send after a sign-in. */
export const providerEvents: Feature = {
  name: 'provider-events',
  isOn: (settings) => openIdProviders(settings).length > 0,
  module: async (settings) =>
    (await import('./provider-events.module.js')).ProviderEventsModule.forRoot(settings),
  entities: [SignalSubject, SignalAccount],
};
