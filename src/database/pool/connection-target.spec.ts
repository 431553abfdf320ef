import { parseSettings } from '../../config/settings/parse-settings.js';
import { directTarget, usualTarget } from './connection-target.js';

it.each([
  ['DATABASE_URL', usualTarget],
  ['DATABASE_DIRECT_URL', directTarget],
] as const)('names %s if a file that its URL names cannot be read', (variable, target) => {
  const url = 'postgres://u:hunter2@db.example/x';
  const lost = `${url}?sslmode=verify-full&sslrootcert=/lost/ca.pem`;
  const settings = parseSettings({
    SECRET_KEY: 'ab'.repeat(32),
    DATABASE_URL: url,
    DATABASE_DIRECT_URL: url,
    [variable]: lost,
  });
  expect(() => target(settings)).toThrow(
    new RegExp(
      `^invalid settings, nothing was started:\n  ${variable}: cannot be used: ENOENT.*/lost/ca\\.pem'$`,
    ),
  );
});
