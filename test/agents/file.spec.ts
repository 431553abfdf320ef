import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentsFile, AGENTS_CONTENT } from './agent.js';
import { createDatabase } from '../support/database.js';
import { latchkeyCommand, spawnService } from '../support/service-process.js';
import { use } from '../support/use.js';

describe('AGENTS_FILE', () => {
  const database = use(() => createDatabase());
  const env = (path: string) => ({
    DATA_DIR: mkdtempSync(join(tmpdir(), 'latchkey-agents-')),
    DATABASE_URL: database.url,
    AGENTS_FILE: path,
  });
  const check = (path: string) => latchkeyCommand(env(path), tmpdir(), 'check-config');

  it('stops the start if it cannot be used: each error names the member, and none has a value', async () => {
    const [client] = AGENTS_CONTENT.clients;
    const path = agentsFile({
      resources: AGENTS_CONTENT.resources.map((one) => ({ ...one, name: '' })),
      clients: [{ ...client, client_secret_hash: 'a secret itself' }],
    });
    const service = await spawnService(env(path));
    expect(await service.ended).toBe(1);
    for (const member of ['resources[0].name', 'resources[1].name', 'clients[0].client_secret_hash']) {
      expect(service.output()).toContain(`AGENTS_FILE: ${member} is missing or invalid`);
    }
    expect(service.output()).not.toContain('a secret itself');
    const { code, stdout } = await check('/nowhere/agents.json');
    expect([code, stdout]).toEqual([1, expect.stringMatching(/FAIL .*AGENTS_FILE/)]);
  });

  it('warns of trust in everybody, at the start and in check-config', async () => {
    const path = agentsFile({ ...AGENTS_CONTENT, trust: ['*'] });
    const { code, stdout } = await check(path);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^warning .*AGENTS_FILE: trust has \*/m)]);
    expect((await check(agentsFile())).stdout).not.toContain('trust has');
    const service = await spawnService(env(path));
    await service.says('AGENTS_FILE: trust has *');
    await service.end('SIGTERM');
  });
});
