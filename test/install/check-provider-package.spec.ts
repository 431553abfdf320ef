import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PackageProject } from '../support/package-project.js';
import { CLIENT, ContractProvider } from '../../packages/check-provider/test/support/contract-provider.js';

const run = promisify(execFile);

/** The packed command, installed in a place with nothing else of this repository. */
let project: PackageProject;
beforeAll(async () => {
  project = await PackageProject.install(['check-provider']);
});
afterAll(() => project?.remove());

const command = (...args: string[]): Promise<{ stdout: string }> =>
  run(process.execPath, [project.command('latchkey-check-provider'), ...args]);

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

it('depends on nothing', async () => {
  const { dependencies, peerDependencies } = await project.manifest('check-provider');
  expect([dependencies, peerDependencies]).toEqual([undefined, undefined]);
});
