import type { Feature } from '../../extensions.js';
import { parser } from '../../platform/config/settings/parsers.js';
import { settingRows, type SettingValues } from '../../platform/config/settings/setting-row.js';
import { isCalledUrl, signingSecrets } from '../../platform/config/settings/signed-calls.js';

const calledUrl = parser(
  'an https:// URL, or an http:// URL of loopback, without fragment and user info',
  // a comma is part of a host for URL parsers, but here rather a list
  (value) => (isCalledUrl(value) && !new URL(value).hostname.includes(',') ? value : undefined),
);

export const settings = settingRows({
  admissionUrl: {
    section: 'Who may sign in',
    parser: calledUrl,
    secret: true,
    needs: 'ADMISSION_SECRET',
    isCalled: true,
    doc: '`https:` address (`http:` on loopback) of a service of yours that admits or refuses each sign-in (docs/guides/access-policy.md#ask-a-service-of-yours). `WEBHOOK_PRIVATE` holds for it, too.',
  },
  admissionSecret: {
    parser: signingSecrets,
    secret: true,
    needs: 'ADMISSION_URL',
    doc: 'Signs these questions; same form as `WEBHOOK_SECRET`.',
  },
});

declare module '../../platform/config/settings/settings.js' {
  interface Settings extends SettingValues<typeof settings> {}
}

export const admission: Feature = {
  name: 'admission',
  settings,
  givesClaims: ({ admissionUrl }) => admissionUrl !== undefined,
  impersonalReason: 'admission', // the words of the operator's own service are for the operator
  isOn: ({ admissionUrl }) => admissionUrl !== undefined,
  module: async () => ({ module: (await import('./admission.module.js')).AdmissionModule }),
};
