import type { Device } from '../../latchkey.js';
import german from '../../texts/account/account-de.js';
import texts from '../../texts/account/account-en.js';
import { namesOf } from './device-names.js';

const NOW = Date.parse('2026-11-26T12:00:00Z');
const ago = (seconds: number): string => new Date(NOW - seconds * 1000).toISOString();
const device = (members: Partial<Device> = {}): Device => ({
  device_id: 'd',
  device_name: null,
  user_agent: null,
  browser: 'Chrome 156',
  os: 'Windows 11',
  address: null,
  created_at: '2026-03-03T10:00:00.000Z',
  last_seen_at: ago(120),
  current: false,
  signed_in: true,
  online: false,
  ...members,
});
const labels = (...devices: Device[]): string[] => namesOf(devices, texts, NOW).map(({ label }) => label);

it.each<[Partial<Device>, string, string]>([
  [{}, 'Chrome 156 on Windows 11', ''],
  [{ device_name: 'Chrome on Windows' }, 'Chrome 156 on Windows 11', ''],
  [{ device_name: 'Kitchen' }, 'Kitchen', 'Chrome 156 on Windows 11'],
  [{ device_name: 'Firefox on Windows' }, 'Firefox on Windows', 'Chrome 156 on Windows 11'],
  [{ device_name: 'Chrome on Windows', browser: null, os: null }, 'Chrome on Windows', ''],
  [{ os: null }, 'Chrome 156', ''],
  [{ browser: null, os: null }, 'Unknown device', ''],
  [{ device_name: '{when} on {x}' }, '{when} on {x}', 'Chrome 156 on Windows 11'],
])('%j has the title "%s" and the browser "%s"', (members, title, agent) => {
  expect(namesOf([device(members)], texts, NOW)).toMatchObject([{ title, agent }]);
});

it.each([
  [-30, 'Last used now'],
  [59, 'Last used now'],
  [60, 'Last used 1 minute ago'],
  [3599, 'Last used 59 minutes ago'],
  [90_000, 'Last used yesterday'],
  [86_400 * 45, 'Last used last month'],
  [86_400 * 800, 'Last used 2 years ago'],
])('used %d seconds ago: %s', (seconds, lastUsed) => {
  expect(namesOf([device({ last_seen_at: ago(seconds) })], texts, NOW)).toMatchObject([{ lastUsed }]);
});

it('tells devices apart: by their names, by their last use, by their first use, by a number', () => {
  expect(
    labels(
      device(),
      device({ current: true }),
      device({ device_name: 'Kitchen' }),
      device({ last_seen_at: ago(86_400) }),
      device({ device_id: 'e', last_seen_at: ago(86_400), created_at: '2026-03-04T10:00:01.000Z' }),
      device({ device_id: 'f', last_seen_at: ago(86_400) }),
    ).map((label) => label.replace(/\b\d+:\d+:\d+\s[AP]M/, 'TIME')),
  ).toEqual([
    'Chrome 156 on Windows 11, last used 2 minutes ago',
    'Chrome 156 on Windows 11, This device, last used 2 minutes ago',
    'Kitchen, Chrome 156 on Windows 11, last used 2 minutes ago',
    'Chrome 156 on Windows 11, last used yesterday, first used Mar 3, 2026, TIME',
    'Chrome 156 on Windows 11, last used yesterday, first used Mar 4, 2026, TIME',
    'Chrome 156 on Windows 11, last used yesterday, first used Mar 3, 2026, TIME (2)',
  ]);
  const many = labels(...Array.from({ length: 100 }, () => device()));
  expect(new Set(many).size).toBe(100);
});

it('uses dates and times of the language of the texts', () => {
  expect(namesOf([device()], german, NOW)).toMatchObject([
    {
      label: 'Chrome 156 auf Windows 11, zuletzt benutzt: vor 2 Minuten',
      firstUsed: 'Zuerst benutzt: 03.03.2026',
    },
  ]);
});
