import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createDatabase } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { spawnService, type ServiceChild } from '../support/service-process.js';

const file = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** The output of a first start, and of its most frequent failures. */
describe('the first minute', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let service: ServiceChild;
  let folder: string;
  const as = (env: Record<string, string>): Record<string, string> => ({
    DATABASE_URL: database.url,
    LOG_FORMAT: 'text',
    npm_lifecycle_event: 'start',
    ...env,
  });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'latchkey-first-'));
    database = await createDatabase();
    service = await spawnService(as({ SERVICE_KEYS: '', DATA_DIR: join(folder, 'first') }));
    await service.says('Ctrl-C stops it.');
  });
  afterAll(async () => {
    await service?.end('SIGTERM');
    await database?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('ends in one block: the address, demo accounts, documents, how to stop', () => {
    const block = service.output().slice(service.output().indexOf('\n\n'));
    expect(block).toContain(`Latchkey is ready: ${service.url}`);
    const { host, pathname } = new URL(database.url);
    const facts = `database ${host}${pathname}, Redis not set, providers: mock`;
    expect(block).toMatch(/^ {2}version \d+\.\d+\.\d+, listening on 127\.0\.0\.1:\d+, /m);
    expect(block).toContain(facts);
    const key = readFileSync(join(folder, 'first/service-key'), 'utf8');
    expect(block).toContain(`Service key, for your own API: ${key}\n`);
    expect(block).toMatch(/Demo accounts: ada \/ analytical-engine, grace/);
    const [, ...places] = block.matchAll(/^ {2}(\S+) {2,}[a-z]/gm);
    const documents = places.map(([, place]) => place!).filter((place) => !place.startsWith('http'));
    expect(documents).toContain('docs/providers.md');
  });

  it('warns in one line each, without JSON, colours and lines of the framework', () => {
    const lines = service.output().split('\n\n')[0]!.split('\n');
    expect(lines[1]).toMatch(/^\d\d:\d\d:\d\d WARN: REDIRECT_URIS is not set\. Any absolute/);
    for (const line of lines) expect(line).toMatch(/^\d\d:\d\d:\d\d (?:INFO|WARN): \S/);
    expect(service.output()).not.toMatch(/[{}\u001b]|Nest/); // oxlint-disable-line no-control-regex
  });

  it('a port that is taken at 127.0.0.1 or ::1: one line, which says what to do', async () => {
    const sentence = (port: string): string =>
      `Port ${port} is taken by another program. Stop that program, or set PORT to another port.`;
    const hidden = createServer().listen(0, '::1');
    await once(hidden, 'listening');
    try {
      const other = await spawnService(as({ PORT: new URL(service.url).port }));
      expect(await other.ended).toBe(1);
      const [, ...said] = other.output().trim().split('\n');
      expect(said).toEqual([sentence(new URL(service.url).port)]);
      const PORT = String((hidden.address() as AddressInfo).port);
      await expect(startTestService({ PORT, HOST: '127.0.0.1', DATABASE_URL: database.url })).rejects.toThrow(
        sentence(PORT),
      );
    } finally {
      hidden.close();
    }
  });

  it('a directory that cannot be written: one line, and nothing is left', async () => {
    writeFileSync(join(folder, 'file'), '');
    const env = as({ DATABASE_URL: '', DATA_DIR: join(folder, 'file', 'data') });
    const other = await spawnService(env);
    expect(await other.ended).toBe(1);
    expect(other.output().trim().split('\n')).toHaveLength(2); // the warning, and
    expect(other.output()).toContain(`embedded PostgreSQL did not start: ENOTDIR`);
    expect(readdirSync(folder)).toEqual(['file', 'first']);
  });

  it('`npm start` before `npm ci`', () => {
    const place = mkdtempSync(join(folder, 'clone-'));
    for (const name of ['package.json', 'admin/package.json', 'start.js'])
      cpSync(file(name), join(place, name));
    const start = (): unknown[] => {
      const { status, stderr } = spawnSync(process.execPath, ['start.js'], { cwd: place, encoding: 'utf8' });
      return [status, stderr];
    };
    expect(start()).toEqual([1, 'Nothing is installed. Run `npm ci`.\n']);
    mkdirSync(join(place, 'node_modules/@nestjs/common'), { recursive: true });
    expect(start()).toEqual([1, 'A dependency is not installed. Run `npm ci`: @nestjs/config\n']);
  });

  it('a directory below /proc: one line (Node.js would try to create it in an endless loop)', async () => {
    const other = await spawnService(as({ DATABASE_URL: '', DATA_DIR: '/proc/latchkey' }));
    expect(await other.ended).toBe(1);
    expect(other.output()).toContain(
      'DATA_DIR is invalid. Use a directory on a disk, without ~ for a home directory. Value: "/proc/latchkey".\n',
    );
  });
});
