import { parseSettings } from '../config/parse-settings.js';
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
