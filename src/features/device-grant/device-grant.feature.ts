import type { Feature } from '../../extensions.js';
import { SessionFacts } from './approval/session-facts.entity.js';
import { DeviceConfirmation } from './page/device-confirmation.entity.js';
import { DeviceRequest } from './requests/device-request.entity.js';

export const deviceGrant: Feature = {
  name: 'device-grant',
  isOn: (settings) => settings.deviceGrant !== 'off',
  module: async () => ({ module: (await import('./device-grant.module.js')).DeviceGrantModule }),
  entities: [DeviceRequest, DeviceConfirmation, SessionFacts],
  work: {
    'read-device-decisions': {
      everyMs: 500,
      failure: 'decisions on requests of devices were not read: polls are answered after two seconds',
    },
  },
};
