import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PackageProject } from '../../../test/support/packed-package.js';
import { CLIENT, ContractProvider } from './support/contract-provider.js';

const run = promisify(execFile);

/** The packed command, installed in a place with nothing else of this repository. */
let project: PackageProject;
beforeAll(async () => {
  project = await PackageProject.install('check-provider');
});
afterAll(() => project?.remove());

const command = (...args: string[]): Promise<{ stdout: string }> =>
  run(process.execPath, [
    join(project.installed, project.manifest.bin!['latchkey-check-provider']!),
    ...args,
  ]);

it('checks a provider', async () => {
  const provider = await ContractProvider.start();
  try {
    const { stdout } = await command(
      provider.url,
      '--client-id',
      CLIENT.id,
      '--client-secret',
      CLIENT.secret,
    );
    expect(stdout).toMatch(/ 0 fail, 0 advice, /);
  } finally {
    await provider.close();
  }
});

it('tells its own name', async () => {
  expect((await command('--help')).stdout).toMatch(/^Usage: latchkey-check-provider <url> --client-id/);
  await expect(command('--quick')).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^check-provider: .+\n\nUsage: latchkey-check-provider <url>/),
  });
});

it('depends on nothing, and brings nothing that is not needed', async () => {
  expect(project.manifest.dependencies).toBeUndefined();
  const files = await readdir(project.installed, { recursive: true, withFileTypes: true });
  const names = files.filter((file) => file.isFile()).map(({ name }) => name);
  expect(names.filter((name) => !name.endsWith('.js')).toSorted()).toEqual([
    'LICENSE',
    'README.md',
    'package.json',
  ]);
  expect(names.filter((name) => name.includes('.spec.'))).toEqual([]);
});
