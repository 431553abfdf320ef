import { parse } from 'dotenv';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../docs/.vitepress/places.js';
import { PRESETS, withPreset } from '../../src/platform/config/providers/presets.js';
import { parseSettings } from '../../src/settings.js';

const INDEX = readFileSync(join(ROOT, 'docs/providers.md'), 'utf8');

/** The environment, with a key instead of the path of its file. */
function withKey({
  'providers.apple.client_key_file': path,
  ...env
}: Record<string, string>): Record<string, string> {
  if (path === undefined) return env;
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    ...env,
    'providers.apple.client_key': privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

it.each([...PRESETS.keys()])('%s has a page of at most 24 lines, whose .env enables it', (preset) => {
  const page = readFileSync(join(ROOT, `docs/providers/${preset}.md`), 'utf8');
  expect(page.trimEnd().split('\n').length).toBeLessThanOrEqual(24);
  expect(page).toContain(`https://app.example/callback/${preset}`);
  expect(page).toContain(`https://id.example/providers/${preset}/callback`);
  expect(INDEX).toContain(`](providers/${preset}.md)`);
  const [, env] = /^```dotenv\n([^]*?)^```$/m.exec(page) ?? [];
  const { providers, warnings } = parseSettings({
    PROVIDERS_MOCK_ENABLED: 'false',
    PUBLIC_URL: 'https://id.example',
    REDIRECT_URIS: 'https://app.example/callback',
    ...withKey(parse(env!)),
  });
  expect([[...providers.keys()], warnings]).toEqual([[preset], []]);
  expect(withPreset(providers.get(preset)!).label).toBeTruthy();
});
