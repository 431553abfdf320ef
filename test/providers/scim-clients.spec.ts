import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { DIRECTORY_ENV } from '../support/directory.js';
import { Endings } from '../support/endings.js';
import { needs } from '../support/installed.js';
import { startTestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { scimJavaClient, scimPythonClient } from './installed-products.js';

const TOKEN = DIRECTORY_ENV.PROVIDERS_STUB_SCIM_TOKEN;
const [python, java] = [scimPythonClient(), scimJavaClient()];

/** Clients and a validator of others, as they are (docs/directory.md#what-is-understood). */
describe('a directory', () => {
  const endings = new Endings();
  let url: string;

  beforeEach(async () => {
    const provider = endings.after(await StubProvider.start(), (one) => one.close());
    const env = { ...provider.env(), ...DIRECTORY_ENV };
    const service = endings.after(await startTestService(env), (one) => one.close());
    url = `${service.url}/scim/v2/stub`;
  });
  afterEach(() => endings.run());

  const run = async (program: string, args: readonly string[], input = ''): Promise<string> => {
    const env = { PATH: process.env['PATH'], SCIM_TOKEN: TOKEN, PYTHONPATH: python };
    const running = promisify(execFile)(program, args, { env });
    running.child.stdin!.end(input);
    const { stdout } = await running.catch((error: { stdout: string; stderr: string }) => {
      throw new Error(`${error.stdout}${error.stderr}`.replace(/^SUCCESS.*\n(?: .*\n)*/gm, ''));
    });
    return stdout;
  };

  needs({ 'Python, pip and the download': python !== undefined }).describe('with scim2-cli', () => {
    const scim2 = (args: readonly string[], input?: object): Promise<string> => {
      const header = ['--url', url, '--header', `Authorization: Bearer ${TOKEN}`];
      return run(
        'python3',
        ['-c', 'from scim2_cli import cli; cli()', ...header, ...args],
        input && JSON.stringify(input),
      );
    };

    it('scim2-tester finds no deviation', async () => {
      const lines = (await scim2(['test'])).split('\n');
      const titles = lines.filter((line) => /^\S/.test(line)).slice(1);
      expect(titles.filter((title) => !title.startsWith('SUCCESS '))).toEqual([]);
      for (const kind of ['User', 'Group']) {
        expect(lines.some((line) => line.includes(`Successfully replaced ${kind} object`))).toBe(true);
      }
      expect(titles.length).toBeGreaterThanOrEqual(70);
    });

    it('its commands make, find, change and delete a user', async () => {
      const schemas = ['urn:ietf:params:scim:schemas:core:2.0:User'];
      const user = { schemas, userName: `${randomUUID()}@corp.example`, active: true };
      const { id } = JSON.parse(await scim2(['create', 'user'], user)) as { id: string };
      const filter = `userName eq "${user.userName}"`;
      expect(JSON.parse(await scim2(['search', 'user', '--filter', filter]))).toMatchObject({
        totalResults: 1,
        Resources: [{ id }],
      });
      const replaced = { ...user, id, displayName: 'Ada' };
      expect(JSON.parse(await scim2(['replace', 'user'], replaced))).toMatchObject({ displayName: 'Ada' });
      const patch = {
        schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
        Operations: [{ op: 'replace', path: 'active', value: false }],
      };
      await scim2(['modify', 'user', id], patch);
      expect(JSON.parse(await scim2(['query', 'user', id]))).toMatchObject({
        displayName: 'Ada',
        active: false,
      });
      await scim2(['delete', 'user', id]);
      await expect(scim2(['query', 'user', id])).rejects.toThrow('there is no such resource');
    });
  });

  needs({ 'Java, Maven and the download': java !== undefined }).it(
    'the UnboundID SDK for Java makes, reads, filters, patches and deletes users and groups',
    async () => {
      const client = new URL('scim-clients/ScimClient.java', import.meta.url).pathname;
      const said = await run('java', ['-cp', `${java}/*`, client, url]);
      expect(said).toContain('all calls answered as the client expects');
    },
  );
});
