import { parseSettings } from '../../config/settings/parse-settings.js';
import { directWay, usualWay } from './ways.js';

it.each([
  ['DATABASE_URL', usualWay],
  ['DATABASE_DIRECT_URL', directWay],
] as const)('names %s where a file that its URL names cannot be read', (variable, way) => {
  const url = 'postgres://u:hunter2@db.example/x';
  const lost = `${url}?sslmode=verify-full&sslrootcert=/lost/ca.pem`;
  const settings = parseSettings({
    SECRET_KEY: 'ab'.repeat(32),
    DATABASE_URL: url,
    DATABASE_DIRECT_URL: url,
    [variable]: lost,
  });
  expect(() => way(settings)).toThrow(
    new RegExp(
      `^invalid settings, nothing was started:\n  ${variable}: cannot be used: ENOENT.*/lost/ca\\.pem'$`,
    ),
  );
});

it('shares one client between the pool and the notifications, so that a fault of the URL is logged once', () => {
  const settings = parseSettings({ SECRET_KEY: 'ab'.repeat(32), DATABASE_URL: 'postgres://u@db.example/x' });
  expect(directWay(settings).Client).toBe(usualWay(settings).Client);
});
