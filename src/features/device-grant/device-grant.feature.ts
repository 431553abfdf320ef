import type { Feature } from '../../extensions.js';

declare module '../../audit/audit-names.js' {
  interface AuditNames extends Record<'device_requested' | 'device_approved' | 'device_denied', true> {}
}

declare module '../../platform/http/rate-limit.js' {
  interface OtherLimits {
    user_code: true;
  }
}

export const deviceGrant: Feature = {
  name: 'device-grant',
  isOn: (settings) => settings.deviceGrant !== 'off',
  module: async () => ({ module: (await import('./device-grant.module.js')).DeviceGrantModule }),
  documented: { DEVICE_GRANT: 'push' },
  auditNames: ['device_requested', 'device_approved', 'device_denied'],
  limits: { user_code: 10 }, // wrong codes (RFC 8628 §5.1)
  entities: async () => ({
    ...(await import('./requests/device-request.entity.js')),
    ...(await import('./page/device-confirmation.entity.js')),
    ...(await import('./approval/session-facts.entity.js')),
  }),
  work: {
    'read-device-decisions': {
      everyMs: 500,
      failure: 'decisions on requests of devices were not read: polls are answered after two seconds',
    },
  },
};
