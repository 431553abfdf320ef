import type { Feature } from '../../extensions.js';
import { oneOf } from '../../platform/config/settings/parsers.js';
import { settingRows, type SettingValues } from '../../platform/config/settings/setting-row.js';
import type { Settings } from '../../platform/config/settings/settings.js';

const settings = settingRows({
  deviceGrant: {
    section: 'Devices without a browser',
    parser: oneOf('off', 'on', 'push'),
    default: 'off',
    doc: '`on`: devices without a browser may sign in (docs/device-sign-in.md). `push`: a request with a `login_hint` also reaches open devices of the user.',
  },
});

declare module '../../platform/config/settings/settings.js' {
  interface Settings extends SettingValues<typeof settings> {}
}

declare module '../../audit/audit-names.js' {
  interface AuditNames extends Record<'device_requested' | 'device_approved' | 'device_denied', true> {}
}

declare module '../../platform/http/rate-limit.js' {
  interface OtherLimits {
    user_code: true;
  }
}

/** Returns the redirect URI of the sign-in on the page for devices. */
export function deviceCallback({ publicUrl }: Pick<Settings, 'publicUrl'>): string {
  return `${publicUrl}/device/callback`;
}

export const deviceGrant: Feature = {
  name: 'device-grant',
  settings,
  redirectUris: (all) =>
    all.deviceGrant === 'off' ? [] : [{ uri: deviceCallback(all), isRegistered: false }],
  isOn: (all) => all.deviceGrant !== 'off',
  module: async () => ({ module: (await import('./device-grant.module.js')).DeviceGrantModule }),
  documented: { DEVICE_GRANT: 'push' },
  auditNames: ['device_requested', 'device_approved', 'device_denied'],
  limits: { user_code: 10 }, // wrong codes (RFC 8628 §5.1)
  entities: async () => ({
    ...(await import('./requests/device-request.entity.js')),
    ...(await import('./page/device-confirmation.entity.js')),
  }),
  migrations: () => import('./migrations/1795824000002-device-grant.js'),
  work: {
    'read-device-decisions': {
      everyMs: 500,
      failure: 'decisions on requests of devices were not read: polls are answered after two seconds',
    },
  },
};
