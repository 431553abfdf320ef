import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parsePasswordHash, verifyPassword } from '../src/sample-provider/password-hash.js';
import { createDatabase } from './support/database.js';
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

it('brings what it serves: the demo page, and the SDK that it loads', async () => {
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
  expect(files.filter((file) => /\.spec\.|(?<!\.d)\.ts$|^(test|bench|docs|data|src)\//.test(file))).toEqual(
    [],
  );
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
