import type { Feature } from '../../extensions.js';
import { integer } from '../../platform/config/settings/parsers.js';
import { settingRows, type SettingValues } from '../../platform/config/settings/setting-row.js';

const settings = settingRows({
  maxSessions: {
    section: 'Lifetimes',
    parser: integer(1, 10_000, 'sessions'),
    doc: 'Live sessions of a user; a further sign-in ends the least recently used one (docs/guides/session-length.md#number-of-sessions).',
  },
});

declare module '../../platform/config/settings/settings.js' {
  interface Settings extends SettingValues<typeof settings> {}
}

export const sessionLimit: Feature = {
  name: 'session-limit',
  settings,
  endsEarly: true,
  isOn: ({ maxSessions }) => maxSessions !== undefined,
  module: async () => ({ module: (await import('./session-limit.js')).SessionLimitModule }),
};
