import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { runCheckConfig } from '../../src/commands/check/check-config.js';
import { createDatabase, createEmptyDatabase, dump, query } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { needs } from '../support/installed.js';
import { hasRedis, RedisServer } from '../support/redis-server.js';
import { latchkeyCommand, type CommandResult } from '../support/service-process.js';
import { StubProvider } from '../support/stub-provider.js';
import { use } from '../support/use.js';

const APPLE_KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
}) as string;

/** `latchkey check-config` (docs/check.md#check-config): once as a process, else in this one. */
describe('check-config', () => {
  let cwd: string;
  let DATA_DIR: string;
  beforeAll(() => {
    cwd = mkdtempSync(join(tmpdir(), 'latchkey-check-'));
    DATA_DIR = join(cwd, 'data');
  });
  const database = use(() => createDatabase());
  afterAll(() => rmSync(cwd, { recursive: true }));

  afterEach(() => jest.restoreAllMocks());

  async function check(env: Record<string, string>): Promise<Pick<CommandResult, 'code' | 'stdout'>> {
    jest.replaceProperty(process, 'env', { PORT: String(await freePort()), DATA_DIR, ...env });
    jest.spyOn(process, 'cwd').mockReturnValue(cwd);
    jest.spyOn(Logger, 'overrideLogger').mockReturnValue(undefined); // other spec files share it
    let stdout = '';
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => (stdout += String(text)) !== '');
    const code = await runCheckConfig();
    jest.restoreAllMocks();
    expect(stdout).not.toMatch(/a client secret|pass-word/);
    return { code, stdout };
  }

  it('without settings: valid, and nothing is created', async () => {
    const env = { PORT: String(await freePort()), DATA_DIR };
    const { code, stdout, stderr } = await latchkeyCommand(env, cwd, 'check-config');
    expect(stdout).toMatch(/^ok .*embedded PostgreSQL and creates it in .*data\/postgres$/m);
    expect(stdout).toMatch(
      /^warning .*SECRET_KEY is not set\. A start generates a key: .*data\/secret-key\.$/m,
    );
    expect(stdout).toMatch(/\nValid: 0 errors, 3 warnings\./);
    expect([code, stderr]).toEqual([0, '']);
    expect(readdirSync(cwd)).toEqual([]);
  });

  it('prints what a start would do with the database, and the redirect URIs to register', async () => {
    const stub = await StubProvider.start();
    const empty = await createEmptyDatabase();
    const env = {
      ...stub.env('CORP'),
      PROVIDERS_CORP_ALLOW: 'email_domain=corp.example&claim:plan, user_id=42',
      PROVIDERS_APPLE_ADAPTER: 'apple',
      PROVIDERS_APPLE_CLIENT_ID: 'example.app.web',
      PROVIDERS_APPLE_TEAM_ID: 'ABCDE12345',
      PROVIDERS_APPLE_CLIENT_KEY_ID: 'KEY1234567',
      PROVIDERS_APPLE_CLIENT_KEY: APPLE_KEY,
      SECRET_KEY: 'ab'.repeat(32),
      PUBLIC_URL: 'https://id.example',
      REDIRECT_URIS: 'https://app.example/callback',
    };
    try {
      const first = await check({ ...env, DATABASE_URL: empty.url });
      expect(first.stdout).toMatch(
        /^ok +database +PostgreSQL \d+.*; a start applies Core\d+(?:, \w+\d{13})+$/m,
      );
      expect(await query(empty.url, "SELECT FROM pg_tables WHERE schemaname = 'public'")).toEqual([]);

      const before = await dump(database.url);
      const { code, stdout } = await check({ ...env, DATABASE_URL: database.url });
      expect(stdout).toMatch(/^ok +database .*the schema is up to date$/m);
      expect(stdout).toMatch(/^ok +signing keys +a start makes the first one$/m);
      expect(stdout).toMatch(
        /^ok +provider +corp \(adapter contract\): allow=email_domain=corp\.example&claim:plan, user_id=42$/m,
      );
      expect(stdout).toMatch(/^ok +provider +apple \(adapter oidc\): everyone may sign in \(no allow\)$/m);
      expect(stdout).toMatch(/^register +corp +https:\/\/app\.example\/callback$/m);
      expect(stdout).toMatch(/^register +corp +https:\/\/id\.example\/providers\/corp\/callback$/m);
      expect(stdout).toMatch(/^register +apple +https:\/\/id\.example\/providers\/apple\/callback$/m);
      expect(stdout).not.toMatch(/^register +apple +https:\/\/app\.example/m); // it posts the code to the service
      expect([code, await dump(database.url)]).toEqual([0, before]);
    } finally {
      await stub.close();
      await empty.close();
    }
  });

  it('finds each part that a start could not use', async () => {
    const settings = await check({
      PORT: 'x',
      'providers.corp.adapter': 'oidc',
      'providers.corp.enabled': 'true',
    });
    expect(settings.stdout).toMatch(/^FAIL +settings +PORT is invalid\./m);
    expect(settings.stdout).toMatch(/^FAIL +settings +providers\.corp\.url is not set/m);
    expect(settings.code).toBe(1);

    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const others = await check({
      DATABASE_URL: 'postgres://user:pass-word@127.0.0.1:1/none',
      REDIS_URL: 'redis://:pass-word@127.0.0.1:1',
      PORT: String(port),
    });
    taken.close();
    expect(others.stdout).toMatch(/^FAIL +database +.*no database at 127\.0\.0\.1:1/m);
    expect(others.stdout).toMatch(/^FAIL +redis +cannot be used: connect ECONNREFUSED/m);
    expect(others.stdout).toMatch(/^warning +address +Port \d+ is taken/m);
    expect(others.code).toBe(1);

    await query(database.url, `CREATE ROLE "reader" LOGIN PASSWORD 'pass-word'`).catch(() => undefined);
    const empty = await createEmptyDatabase();
    const url = new URL(empty.url);
    [url.username, url.password] = ['reader', 'pass-word'];
    const rights = await check({ DATABASE_URL: url.href });
    await empty.close();
    expect(rights.stdout).toMatch(/^FAIL +database .*permission denied for schema public; make the role/m);
  });

  it('refuses the schema of another version, and tables without migrations, and changes neither', async () => {
    const seen = async (change: string): Promise<[string | undefined, number | null]> => {
      const other = await createDatabase();
      await query(other.url, change);
      const before = await dump(other.url);
      const { code, stdout } = await check({ DATABASE_URL: other.url });
      expect(await dump(other.url)).toBe(before);
      await other.close();
      return [/^FAIL +database +(.*)$/m.exec(stdout)?.[1], code];
    };
    expect(await seen('ALTER TABLE devices DROP COLUMN device_name')).toEqual([
      'the database cannot be used: its schema lacks the column devices.device_name; begin with an empty database, or start the version that made this one (docs/versions.md)',
      1,
    ]);
    expect(await seen('DROP TABLE migrations')).toEqual([
      expect.stringMatching(/relation "\w+" already exists; .* restore it into an empty database/),
      1,
    ]);
  });

  it('finds signing keys of another SECRET_KEY', async () => {
    await query(
      database.url,
      `INSERT INTO signing_keys (kid, public_jwk, encrypted_private_key, created_at, active_at, token_ttl)
       VALUES (gen_random_uuid(), '{}', 'x', now(), now(), 3600)`,
    );
    const production = {
      NODE_ENV: 'production',
      SECRET_KEY: 'ab'.repeat(32),
      REDIRECT_URIS: 'https://app.example/callback',
      PUBLIC_URL: 'https://id.example',
      TRUST_PROXY: '1',
      DATABASE_URL: database.url,
    };
    const { code, stdout } = await check({ ...production, ADMIN_ENABLED: 'true' });
    expect(stdout).toMatch(/^warning +administration +ADMIN_ENABLED is on, but nobody can get a role/m);
    expect(stdout).toMatch(/^FAIL +signing keys +key [\w-]+ was stored with another SECRET_KEY$/m);
    expect(code).toBe(1);
  });

  needs({ 'redis-server': hasRedis }).it('runs the self-test of Redis', async () => {
    const redis = await RedisServer.start();
    const refusing = await RedisServer.start(
      '--user',
      'default',
      'on',
      'nopass',
      '~*',
      'resetchannels',
      '+@all',
    );
    try {
      const good = await check({ REDIS_URL: redis.url });
      expect(good.stdout).toMatch(/^ok +redis +passed the self-test/m);
      expect(good.code).toBe(0);
      const bad = await check({ REDIS_URL: refusing.url });
      expect(bad.stdout).toMatch(/^FAIL +redis +cannot be used: .*NOPERM/m);
      expect(bad.code).toBe(1);
    } finally {
      await Promise.all([redis.kill(), refusing.kill()]);
    }
  });
});
