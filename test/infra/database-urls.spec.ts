import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  startTemporaryPostgres,
  type TemporaryPostgres,
} from '../../packages/embedded-postgres/src/temporary-postgres.js';
import { needs } from '../support/installed.js';
import { privateCa } from '../support/private-ca.js';
import { query } from '../support/database.js';
import { spawnService } from '../support/service-process.js';

const full = process.env['INFRA'] === '1';

/** Every way to write DATABASE_URL (docs/database.md), on a PostgreSQL with TLS and a socket. */
needs({ 'test:all -- infra, in full': full }).describe('DATABASE_URL', () => {
  let directory: string;
  let server: TemporaryPostgres;
  let ca: string;
  let user: string;
  let password: string;
  let port: string;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'latchkey-urls-'));
    chmodSync(directory, 0o777); // PostgreSQL's own account makes its socket there
    server = await startTemporaryPostgres({
      dataDir: mkdtempSync(join(tmpdir(), 'latchkey-tls-')),
      settings: ['fsync=off', `unix_socket_directories=${directory}`, 'unix_socket_permissions=0777'],
      initdb: ['--no-sync'],
    });
    ({ username: user, password, port } = new URL(server.url));
    const certificates = privateCa(directory);
    ca = certificates.ca;
    await turnTlsOn(`${server.url}postgres`, certificates.server);
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  /** `USER`, `PASSWORD`, `PORT`, `DIR` and `CA` are replaced by values of the server. */
  const filled = (text: string): string =>
    text
      .replace('USER', user)
      .replace('PASSWORD', password)
      .replace('PORT', port)
      .replace('DIR', encodeURIComponent(directory))
      .replace('CA', ca);

  it.each([
    ['postgres://USER:PASSWORD@localhost:PORT/postgres?sslmode=require&sslrootcert=CA', true],
    ['postgres://USER:PASSWORD@localhost:PORT/postgres?sslmode=verify-full&sslrootcert=CA', true],
    ['postgres://USER:PASSWORD@127.0.0.1:PORT/postgres?sslmode=no-verify', true],
    ['postgres://USER:PASSWORD@127.0.0.1:PORT/postgres?uselibpqcompat=true&sslmode=require', true],
    ['postgres://USER:PASSWORD@127.0.0.1:PORT/postgres?sslmode=disable', false],
    ['postgres://USER:PASSWORD@DIR:PORT/postgres', false],
    ['postgres:///postgres?host=DIR&port=PORT&user=USER&password=PASSWORD', false],
    ['postgres://USER:PASSWORD@/postgres?host=DIR&port=PORT', false],
    ['postgres://USER@127.0.0.1:PORT/postgres with PGPASSWORD', false],
    ['postgres:/// with all of it in PGHOST and its kin', false],
  ])('%s', async (text, tls) => {
    const DATABASE_URL = filled(text.split(' ')[0]!);
    const all = { PGHOST: directory, PGPORT: port, PGUSER: user, PGDATABASE: 'postgres' };
    const variables = text.includes('PG') && { PGPASSWORD: password, ...(text.includes('PGHOST') && all) };
    const service = await spawnService({ DATABASE_URL, ...variables });
    try {
      await service.says('Latchkey is ready');
      expect((await fetch(`${service.url}/health/ready`)).status).toBe(200);
      const connections = await query(
        `${server.url}postgres`,
        `SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'latchkey'`,
      );
      expect(connections).toEqual([{ ssl: tls }]);
    } finally {
      await service.end('SIGTERM');
    }
    expect(service.output()).not.toMatch(/Warning|"level":"(?:error|fatal)"/);
    expect(service.output()).not.toContain(password);
  });

  it.each([
    ['postgres://USER:PASSWORD@localhost:PORT/postgres?sslmode=require', /certificate; .*sslrootcert/],
    [
      'postgres://USER:PASSWORD@127.0.0.1:PORT/postgres?sslmode=require&sslrootcert=CA',
      /altnames.*as the certificate does/,
    ],
    ['postgres://USER@127.0.0.1:PORT/postgres', /it wants a password/],
    ['postgres://USER:wrong@127.0.0.1:PORT/postgres', /password authentication failed/],
    ['postgres://USER:PASSWORD@127.0.0.1:PORT/postgres?sslrootcert=/nowhere.pem', /ENOENT.*nowhere.pem/],
    ['postgres://USER:PASSWORD@a:5432,b:5432/postgres', /DATABASE_URL names several hosts\..*HAProxy/],
  ])('%s stops the start at once, with one line that says why', async (text, line) => {
    const service = await spawnService({ DATABASE_URL: filled(text) });
    expect(await service.ended).toBe(1);
    expect(service.output()).not.toContain('waiting for the database'); // it has not tried again
    const lines = service
      .output()
      .split('\n')
      .filter((one) => line.test(one));
    expect([lines.length, service.output()]).toEqual([1, expect.not.stringContaining(password)]);
    expect(service.output()).not.toMatch(/\n {4}at /); // no stack
  });
});

async function turnTlsOn(
  url: string,
  { certificate, key }: { certificate: string; key: string },
): Promise<void> {
  const [row] = await query<{ data: string }>(url, `SELECT current_setting('data_directory') AS data`);
  const { uid, gid } = statSync(row!.data);
  for (const [from, name] of [
    [certificate, 'server.crt'],
    [key, 'server.key'],
  ] as const) {
    const file = join(row!.data, name);
    copyFileSync(from, file);
    chmodSync(file, 0o600);
    if (process.getuid?.() === 0) chownSync(file, uid, gid);
  }
  await query(url, 'ALTER SYSTEM SET ssl = on');
  await query(url, 'SELECT pg_reload_conf()');
}
