import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { claimsOf, signIn } from '../../support/sign-in.js';
import { useService } from '../../support/use.js';
import { stepsOf } from '../page.js';

const KEY = 'k'.repeat(40);

describe('the script of docs/guides/moving-in.md', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-moving-'));
  const { service } = useService({ SERVICE_KEYS: KEY });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('gives users the ids that they had before, also if it runs again', async () => {
    const file = stepsOf('docs/guides/moving-in.md').find((step) => step.does === 'write')!;
    writeFileSync(join(folder, file.file), file.text);
    const users = ['ada', 'grace'].map((id) => ({ provider: 'stub', id, old_id: `auth0|${id}`, name: id }));
    writeFileSync(join(folder, 'users.jsonl'), users.map((user) => `${JSON.stringify(user)}\n`).join(''));
    const env = { ...process.env, LATCHKEY_URL: service.url, LATCHKEY_KEY: KEY, NODE_OPTIONS: '' };
    for (let i = 0; i < 2; i++) {
      const { stdout } = await promisify(execFile)(process.execPath, [file.file], { cwd: folder, env });
      expect(stdout).toBe('2 accounts\n');
    }
    const { access_token } = await signIn(service.url, 'ada');
    expect(claimsOf(access_token)).toMatchObject({ claims: { old_id: 'auth0|ada' } });
  });
});
