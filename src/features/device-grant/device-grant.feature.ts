import type { Feature } from '../../extensions.js';

export const deviceGrant: Feature = {
  name: 'device-grant',
  isOn: (settings) => settings.deviceGrant !== 'off',
  module: async () => ({ module: (await import('./device-grant.module.js')).DeviceGrantModule }),
  entities: async () => ({
    ...(await import('./requests/device-request.entity.js')),
    ...(await import('./page/device-confirmation.entity.js')),
    ...(await import('./approval/session-facts.entity.js')),
  }),
  migrations: () => import('./migrations/1700000000002-device-grant.js'),
  work: {
    'read-device-decisions': {
      everyMs: 500,
      failure: 'decisions on requests of devices were not read: polls are answered after two seconds',
    },
  },
};
