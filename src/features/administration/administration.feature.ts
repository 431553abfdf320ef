import type { Feature } from '../../extensions.js';

declare module '../../audit/audit-names.js' {
  interface AuditNames extends Record<'user_suspended' | 'user_restored' | 'provider_tested', true> {}
}

export const administration: Feature = {
  name: 'administration',
  isOn: () => true, // `/users`, also without the page
  documented: { ADMIN_ENABLED: 'true' },
  auditNames: ['user_suspended', 'user_restored', 'provider_tested'],
  advice: async (settings) => (await import('./without-administrators.js')).withoutAdministrators(settings),
  module: async (settings) =>
    (await import('./administration.module.js')).AdministrationModule.forRoot(settings),
};
