import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parsePasswordHash, verifyPassword } from '../src/sample-provider/password-hash.js';
import { createDatabase } from './support/database.js';
import { freePort } from './support/free-port.js';
import { installPackedService } from './support/packed-service.js';
import { startServiceProcess } from './support/service-process.js';

/** The packed service (contract §1, §2), installed where nothing else of this repository is. */
let directory: string;
let installed: string;

beforeAll(async () => {
  directory = await installPackedService();
  installed = join(directory, 'node_modules/latchkey');
});
afterAll(() => rm(directory, { recursive: true, force: true }));

it('brings the files that it serves: the demo page, and the SDK that the page loads', async () => {
  const database = await createDatabase();
  const main = join(installed, 'dist/src/main.js');
  const service = await startServiceProcess({ DATABASE_URL: database.url }, main);
  const get = async (path: string): Promise<[string, string]> => {
    const response = await fetch(service.url + path);
    const type = response.headers.get('content-type')?.split(';')[0];
    return [`${response.status} ${type}`, await response.text()];
  };
  try {
    for (const page of ['/', '/callback']) expect((await get(page))[0]).toBe('200 text/html');
    for (const style of ['style', 'page', 'flow'])
      expect((await get(`/demo/${style}.css`))[0]).toBe('200 text/css');
    for (const script of ['demo', 'client', 'channel', 'latchkey-client', 'socket.io-client'])
      expect([script, (await get(`/demo/${script}.js`))[0]]).toEqual([script, '200 text/javascript']);
    expect((await get('/demo/latchkey-client.js'))[1]).toMatch(/export\{[^}]*createClient/);
  } finally {
    await service.end('SIGTERM');
    await database.drop();
  }
});

it('brings nothing that is not needed: no tests, no sources, nobody else’s files', async () => {
  const files = await readdir(installed, { recursive: true });
  expect(
    files.filter((file) => /\.spec\.|(?<!\.d)\.ts$|^(test|bench|docs|data|src|packages)\//.test(file)),
  ).toEqual([]);
});

it('brings its database, and stops it at the end', async () => {
  await chmod(directory, 0o711); // PostgreSQL's account passes through it to the data
  const main = join(installed, 'dist/src/main.js');
  const service = await startServiceProcess({ DATA_DIR: join(directory, 'data') }, main);
  try {
    expect((await fetch(`${service.url}/health/ready`)).status).toBe(200);
  } finally {
    expect(await service.end('SIGTERM')).toBe(0);
  }
  expect(existsSync(join(directory, 'data/postgres/postmaster.pid'))).toBe(false);
});

it('brings the checker of providers, as `latchkey check-provider`', async () => {
  const { bin, dependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as {
    bin: { latchkey: string };
    dependencies: object;
  };
  expect(Object.keys(dependencies).filter((name) => name.startsWith('@latchkey/'))).toEqual([]);
  const away = `http://127.0.0.1:${await freePort()}`;
  const child = spawn(
    process.execPath,
    [join(installed, bin.latchkey), 'check-provider', away, '--client-id', 'a', '--client-secret', 'b'],
    { cwd: directory, stdio: ['ignore', 'inherit', 'pipe'] },
  );
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  expect(await once(child, 'close')).toEqual([2, null]);
  expect(said).toBe('check-provider: the provider cannot be reached: no answer (ECONNREFUSED)\n');
});

it('makes the hash of a password for an accounts file', async () => {
  const child = spawn(process.execPath, [join(installed, 'dist/src/sample-provider/hash-password.js')], {
    cwd: directory,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end('une clé\n');
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(await verifyPassword('une clé', parsePasswordHash(printed.trim())!)).toBe(true);
});
