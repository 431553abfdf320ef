import type { Feature } from '../../extensions.js';
import { openIdProviders } from '../../platform/config/providers/presets.js';
import { providerKeys, readSignals } from './provider-events.settings.js';

declare module '../../audit/audit-names.js' {
  interface AuditNames {
    signal_received: true;
  }
  interface ActorTypes {
    signal: true;
  }
}

declare module '../../platform/events.js' {
  interface EndCauses {
    signal: true;
  }
}

/** Logout tokens, security events and revocations, which providers send after a sign-in. */
export const providerEvents: Feature = {
  name: 'provider-events',
  providerKeys,
  ofProvider: readSignals,
  isOn: (settings) => openIdProviders(settings).length > 0,
  module: async (settings) =>
    (await import('./provider-events.module.js')).ProviderEventsModule.forRoot(settings),
  auditNames: ['signal_received'],
  entities: () => import('./effect/signal-account.entity.js'),
  migrations: () => import('./migrations/1795824000003-provider-events.js'),
  commands: {
    signals: {
      about: 'connects the security events of a provider (Shared Signals)',
      run: async (argv, load) => (await import('./command/signals.command.js')).runSignals(argv, load),
    },
  },
};
