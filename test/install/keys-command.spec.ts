import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import request from 'supertest';
import { runKeys } from '../../src/commands/keys/command.js';
import { KeyRing } from '../../src/token/keys/key-ring.js';
import { KeyStore } from '../../src/token/keys/key.store.js';
import { bearer, signIn } from '../support/sign-in.js';
import { createDatabase, dump, query } from '../support/database.js';
import { KEYS, keysCommand, startServiceProcess, type CommandResult } from '../support/service-process.js';
import { startTestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';

const OLD = '5e'.repeat(32); // that of the test services
const NEW = 'a1'.repeat(32);

interface Line {
  kid: string;
  state: string;
  published_until: string | null;
}

/** Resolves once a service publishes a key: within half a second or so. */
async function published(url: string, kid: string): Promise<void> {
  for (;;) {
    const { text } = await request(url).get('/.well-known/jwks.json').expect(200);
    if (text.includes(kid)) return;
  }
}

/** Does what `keysCommand` does, in this process: a new one takes a second of CPU time to load the command. */
async function runHere(env: Record<string, string>, ...args: string[]): Promise<CommandResult> {
  const output = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    jest.spyOn(process[name], 'write').mockImplementation((text) => {
      output[name] += String(text);
      return true;
    }),
  );
  const cwd = jest.spyOn(process, 'cwd').mockReturnValue(tmpdir()); // where there is no .env
  const outer = process.env;
  process.env = { ...KEYS, ...env };
  try {
    return { code: await runKeys(args), ...output };
  } finally {
    process.env = outer;
    for (const spy of [...spies, cwd]) spy.mockRestore();
  }
}

describe('latchkey keys', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let env: Record<string, string>;

  beforeEach(async () => {
    database = await createDatabase();
    env = { DATABASE_URL: database.url };
  });
  afterEach(() => database.close());

  it('lists, rotates and revokes while the service runs, and shows no secret', async () => {
    const service = await startTestService(env);
    try {
      const old = service.app.get(KeyRing).signer!.kid;
      const rotated = await keysCommand(env, 'rotate');
      expect(rotated).toMatchObject({ code: 0, stderr: '' });
      const listed = await runHere(env, 'list', '--json');
      const [next, signing] = JSON.parse(listed.stdout) as Line[];
      expect(signing).toMatchObject({ kid: old, state: 'signing', published_until: expect.any(String) });
      expect(next).toMatchObject({ state: 'next', published_until: null });
      expect(Object.keys(next!)).toEqual([
        'kid',
        'state',
        'created_at',
        'active_at',
        'revoked_at',
        'published_until',
      ]);
      expect(rotated.stdout).toContain(next!.kid);
      await published(service.url, next!.kid);

      expect(await runHere(env, 'revoke', old)).toMatchObject({ code: 0, stderr: '' });
      const table = await runHere(env, 'list');
      expect(table.stdout).toMatch(/^kid +state +made +first use +published until\n/);
      expect(table.stdout).toMatch(new RegExp(`\n${old} +revoked `));

      const before = await dump(database.url);
      const unknown = await keysCommand(env, 'revoke', 'nobody');
      expect(unknown).toEqual({ code: 1, stdout: '', stderr: 'There is no signing key nobody.\n' });
      expect(await dump(database.url)).toBe(before);
    } finally {
      await service.close();
    }
  });

  it('list only reads: it makes neither a key, nor a SECRET_KEY, nor a database', async () => {
    const DATA_DIR = join(tmpdir(), `latchkey-keys-${process.pid}-not-there`);
    const nothing = { ...env, SECRET_KEY: '', DATA_DIR };
    const before = await dump(database.url);
    expect(await runHere(nothing, 'list')).toEqual({
      code: 0,
      stdout: 'There is no signing key yet: the service makes the first one when it starts.\n',
      stderr: '',
    });
    expect(await runHere(nothing, 'list', '--json')).toMatchObject({ code: 0, stdout: '[]\n' });
    const nowhere = await runHere({ SECRET_KEY: '', DATA_DIR }, 'list');
    expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringContaining('There is no database in')]);
    for (const args of [['rotate'], ['revoke', 'k'], ['reencrypt']]) {
      const refused = await runHere({ ...nothing, OLD_SECRET_KEY: OLD }, ...args);
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('SECRET_KEY is not set')]);
    }
    expect(await dump(database.url)).toBe(before);
    expect(existsSync(DATA_DIR)).toBe(false);
  });

  it('makes no key with a SECRET_KEY that is not the service’s', async () => {
    await (await startTestService(env)).close();
    const before = await dump(database.url);
    const [{ kid }] = (await query<{ kid: string }>(database.url, 'SELECT kid FROM signing_keys')) as [
      { kid: string },
    ];
    for (const args of [['rotate'], ['revoke', kid]]) {
      const { code, stderr } = await runHere({ ...env, SECRET_KEY: NEW }, ...args);
      expect([code, stderr]).toEqual([1, expect.stringContaining('cannot be decrypted')]);
    }
    expect(await dump(database.url)).toBe(before);
  });

  it('reencrypt changes SECRET_KEY without loss: same keys, same tokens, and nobody interrupted', async () => {
    const provider = await StubProvider.start();
    const strict = { ...env, ...provider.env(), PUBLIC_URL: 'http://localhost:9', NODE_ENV: 'production' };
    const production = {
      ...strict,
      HOST: '127.0.0.1',
      TRUST_PROXY: 'false',
      REDIRECT_URIS: 'http://localhost:9/callback',
    };
    const running = await startTestService(production);
    try {
      const { access_token, refresh_token } = await signIn(running.url);
      const before = await dump(database.url);
      const wrong = await runHere({ ...env, SECRET_KEY: NEW, OLD_SECRET_KEY: '77'.repeat(32) }, 'reencrypt');
      expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('cannot be decrypted')]);
      const none = await runHere({ ...env, SECRET_KEY: NEW }, 'reencrypt');
      expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('OLD_SECRET_KEY is not set')]);
      expect(await dump(database.url)).toBe(before);

      const change = { ...env, SECRET_KEY: NEW, OLD_SECRET_KEY: OLD };
      const done = await runHere(change, 'reencrypt');
      expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('Encrypted 1 key anew') });
      expect(await runHere(change, 'reencrypt')).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('Nothing to do'),
      });
      expect(done.stdout + done.stderr + wrong.stderr).not.toMatch(/(5e){4}|(a1){4}|(77){4}/);

      // The instance with the former key still serves, but creates no key, which the others could not decrypt.
      await request(running.url).post('/oauth2/refresh').send({ refresh_token }).expect(200);
      await query(database.url, `UPDATE signing_keys SET active_at = now() - interval '91 days'`);
      await expect(running.app.get(KeyStore).rotateIfDue()).rejects.toThrow('cannot be decrypted');
      await expect(startTestService(production)).rejects.toThrow('cannot be decrypted');

      const restarted = await startTestService({ ...production, SECRET_KEY: NEW });
      try {
        expect(restarted.app.get(KeyRing).signer!.kid).toBe(running.app.get(KeyRing).signer!.kid);
        await bearer(restarted.url, access_token).get('/me').expect(200);
        const { body } = await request(restarted.url)
          .post('/oauth2/refresh')
          .send({ refresh_token })
          .expect(200);
        await bearer(running.url, (body as { access_token: string }).access_token)
          .get('/me')
          .expect(200);
      } finally {
        await restarted.close();
      }
    } finally {
      await running.close();
      await provider.close();
    }
  });

  it('reads the former SECRET_KEY from a file, too', async () => {
    await (await startTestService(env)).close();
    const directory = mkdtempSync(join(tmpdir(), 'latchkey-keys-'));
    try {
      const file = join(directory, 'secret-key');
      const missing = await runHere({ ...env, SECRET_KEY: NEW, OLD_SECRET_KEY_FILE: file }, 'reencrypt');
      expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('cannot be read (ENOENT)')]);
      writeFileSync(file, `${OLD}\n`);
      const done = await runHere({ ...env, SECRET_KEY: NEW, OLD_SECRET_KEY_FILE: file }, 'reencrypt');
      expect(done.code).toBe(0);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('says so when the database is not the service’s, or is unreachable', async () => {
    await query(database.url, 'DROP TABLE signing_keys');
    const foreign = await runHere(env, 'list');
    expect([foreign.code, foreign.stderr]).toEqual([1, expect.stringContaining('start the service once')]);
    const away = await runHere({ DATABASE_URL: 'postgres://u:hidden@127.0.0.1:1/x' }, 'list');
    expect(away).toMatchObject({ code: 1, stderr: expect.stringContaining('ECONNREFUSED') });
    expect(away.stderr).not.toContain('hidden');
    expect(away.stderr.trim().split('\n')).toHaveLength(1);
  });

  it('works on the embedded database, whether the service runs or not', async () => {
    const DATA_DIR = mkdtempSync(join(tmpdir(), 'latchkey-keys-'));
    try {
      const service = await startServiceProcess({ DATA_DIR });
      const { stdout } = await keysCommand({ DATA_DIR }, 'rotate');
      const [kid] = /[0-9a-f-]{36}/.exec(stdout)!;
      await published(service.url, kid);
      expect(await service.end('SIGTERM')).toBe(0);

      const listed = await runHere({ DATA_DIR }, 'list', '--json');
      const keys = JSON.parse(listed.stdout) as Line[];
      expect(keys.map(({ state }) => state)).toEqual(['next', 'signing']);
      expect(existsSync(join(DATA_DIR, 'postgres', 'postmaster.pid'))).toBe(false); // stopped again
    } finally {
      rmSync(DATA_DIR, { recursive: true });
    }
  });
});
