import { withPort } from './launch.js';

it.each([
  [{ npm_lifecycle_event: 'start' }, 'linux', 'PORT=3001 npm start'],
  [{ npm_lifecycle_event: 'start:prod' }, 'darwin', 'PORT=3001 npm run start:prod'],
  [{ npm_lifecycle_event: 'npx' }, 'linux', 'PORT=3001'],
  [{}, 'linux', 'PORT=3001'],
  [
    { npm_lifecycle_event: 'start' },
    'win32',
    'set PORT=3001 (in PowerShell: $env:PORT=3001) and start again',
  ],
])('another port, after %j on %s', (env, platform, typed) =>
  expect(withPort(3001, env, platform)).toBe(typed),
);
