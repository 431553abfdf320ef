import type { Feature } from '../../extensions.js';
import { boolean } from '../../platform/config/settings/parsers.js';
import { settingRows, type SettingValues } from '../../platform/config/settings/setting-row.js';

const settings = settingRows({
  demoEnabled: {
    section: 'Demo page',
    parser: boolean,
    default: 'true',
    productionDefault: 'false',
    doc: 'The demo page at `/`, with its callback `/callback` as an allowed redirect URI.',
  },
});

declare module '../../platform/config/settings/settings.js' {
  interface Settings extends SettingValues<typeof settings> {}
}

export const demoPage: Feature = {
  name: 'demo-page',
  settings,
  redirectUris: ({ demoEnabled, publicUrl }) =>
    demoEnabled ? [{ uri: `${publicUrl}/callback`, isRegistered: false }] : [],
  isOn: ({ demoEnabled }) => demoEnabled,
  home: 'a page to try it on',
  module: async () => ({ module: (await import('./demo.controller.js')).DemoModule }),
};
