import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { targetOf } from '../../src/platform/database/pool/connection-target.js';
import { onCluster } from '../../src/commands/distribute/distribute.js';
import { createCitusSchema } from '../support/citus.js';
import { createEmptyDatabase, query } from '../support/database.js';
import { needs } from '../support/installed.js';
import { startTestService } from '../support/service.js';
import { signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const MAIN = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));

function distribute(env: Record<string, string>): Promise<[number, string, string]> {
  const options = { cwd: tmpdir(), env: { PATH: process.env['PATH'], ...env } };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [MAIN, 'distribute'], options, (_error, out, err) =>
      resolve([child.exitCode ?? -1, out, err]),
    );
  });
}

it('time-outs of the database or the role do not apply to the distribution', async () => {
  const database = await createEmptyDatabase(); // not a cluster, which would keep the time-out
  const name = new URL(database.url).pathname.slice(1);
  await query(database.url, `ALTER DATABASE ${name} SET statement_timeout = '2s'`);
  const target = targetOf(() => database.url, 'session');
  const [row] = await onCluster(target, (cluster) => cluster.query<[object]>('SHOW statement_timeout'));
  expect(row).toEqual({ statement_timeout: '0' });
  await database.close();
});

// test/install/service-package.spec.ts has its usage, and the lack of DATABASE_URL.
describe('latchkey distribute', () => {
  it('without Citus: one line, no changes, exit code 2', async () => {
    const url = `${process.env['TEST_DATABASE_SERVER']}postgres`;
    expect(await distribute({ DATABASE_URL: url })).toEqual([
      2,
      '',
      'distribute: this database is no Citus cluster: it lacks the extension "citus", and nothing was done\n',
    ]);
    expect(await query(url, `SELECT FROM pg_tables WHERE schemaname = 'public'`)).toEqual([]);
  });
});

const coordinator = process.env['CITUS_URL'];

needs({ CITUS_URL: coordinator !== undefined }).describe('on a Citus cluster', () => {
  let env: Record<string, string>;

  const schema = use(() => createCitusSchema(coordinator!));
  const provider = use(() => StubProvider.start());
  beforeAll(() => {
    env = { ...provider.env(), DATABASE_URL: schema.url, PUBLIC_URL: 'http://latchkey.test' };
  });

  it('distributes existing rows once the service has stopped; may be repeated; the service works after it', async () => {
    const before = await startTestService(env);
    const { access_token: token, user_id: userId } = await signIn(before.url, 'ada');
    try {
      const [code, , said] = await distribute({ DATABASE_URL: schema.url });
      expect([code, said]).toEqual([
        1,
        expect.stringContaining('stop all instances first; nothing was done'),
      ]);
    } finally {
      await before.close();
    }
    const [code, said, error] = await distribute({ DATABASE_URL: schema.url });
    expect([code, error]).toEqual([0, '']);
    expect(said).toMatch(/^users: spread by user_id\n/);
    expect(said).toContain('\ndevices: spread by user_id, beside users\n');
    expect(said).toContain('signing_keys: on every node\n');
    const [again, repeated] = await distribute({ DATABASE_URL: schema.url });
    expect(again).toBe(0);
    expect(repeated).toContain('access_tokens: spread by user_id, beside users, already\n');

    // Copies of access tokens must not stay in the coordinator.
    expect(await query(schema.url, `SELECT pg_relation_size('access_tokens')::int AS size`)).toEqual([
      { size: 0 },
    ]);
    expect(await query(schema.url, 'SELECT user_id FROM access_tokens')).toEqual([{ user_id: userId }]);

    const after = await startTestService(env);
    try {
      const { status } = await fetch(`${after.url}/me`, { headers: { Authorization: `Bearer ${token}` } });
      expect(status).toBe(200);
    } finally {
      await after.close();
    }
  });
});
