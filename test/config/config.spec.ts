import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InvalidSettings } from '../../src/platform/config/settings/invalid-settings.js';
import { InvalidValue } from '../../src/platform/config/settings/parsers.js';
import { loadSettings, parseSettings } from '../../src/settings.js';
import type { Environment } from '../../src/platform/config/settings/setting-row.js';
import type { Settings } from '../../src/platform/config/settings/settings.js';
import { needs } from '../support/installed.js';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'latchkey-config-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const write = (name: string, content: string): void => writeFileSync(join(cwd, name), content);

const PRODUCTION = {
  NODE_ENV: 'production',
  DATABASE_URL: 'postgres://u:p@db.example/x',
  SECRET_KEY: 'ab'.repeat(32),
  REDIRECT_URIS: 'https://app.example/callback',
  TRUST_PROXY: '1',
  PUBLIC_URL: 'https://id.example',
};

/** A key cannot be read from outside, so what is derived from two keys is compared. */
const derived = ({ secretKey }: Settings): string => secretKey.derive('test').toString('hex');

function errorsOf(env: Environment): readonly string[] {
  try {
    loadSettings(env, cwd);
    return [];
  } catch (error) {
    if (error instanceof InvalidSettings) return error.errors;
    throw error;
  }
}

describe('.env', () => {
  it('is read, and the environment wins over it', () => {
    write(
      '.env',
      'PORT=4000\nLOG_LEVEL=debug\nproviders.idp.url=https://idp.example\nPROVIDERS_IDP_CLIENT_ID="a#b"\nproviders.idp.client_secret=x\n',
    );
    const settings = loadSettings({ LOG_LEVEL: 'warn' }, cwd);
    expect(settings).toMatchObject({ port: 4000, logLevel: 'warn' });
    expect(settings.providers.get('idp')).toMatchObject({ url: 'https://idp.example', clientId: 'a#b' });
    expect(loadSettings({ PORT: '' }, cwd).port).toBe(3000); // set and empty
  });

  it('is an error when it cannot be read', () => {
    mkdirSync(join(cwd, '.env'));
    expect(errorsOf({})).toEqual([expect.stringContaining('.env cannot be read (EISDIR)')]);
  });

  const SETTINGS_TEXT = 'LOG_LEVEL=warn\nPORT=4000\n';
  const bigEndian = Buffer.from(`\ufeff${SETTINGS_TEXT}`, 'utf16le').swap16();
  it.each<[string, Buffer | string]>([
    ['UTF-8 with a byte order mark', `\ufeff${SETTINGS_TEXT}`],
    ["UTF-16, as PowerShell's > writes it", Buffer.from(`\ufeff${SETTINGS_TEXT}`, 'utf16le')],
    ['UTF-16, big-endian', bigEndian],
  ])('may be %s', (_name, content) => {
    writeFileSync(join(cwd, '.env'), content);
    expect(loadSettings({}, cwd).port).toBe(4000);
  });

  it.each<[string, Buffer]>([
    ['UTF-16 without a byte order mark', Buffer.from(SETTINGS_TEXT, 'utf16le')],
    ['Latin-1', Buffer.from('PORT=4000\n# sch\u00f6n\n', 'latin1')],
  ])('is an error if it is no text: %s', (_name, content) => {
    writeFileSync(join(cwd, '.env'), content);
    expect(errorsOf({})).toEqual([expect.stringMatching(/^\s*\.env cannot be read \(not text in UTF-8/)]);
  });

  const mixed = Buffer.concat([bigEndian, Buffer.from('NODE_ENV=production\n')]);
  it.each<[string, number, Buffer | string]>([
    ['of cmd.exe', 2, 'PORT=4000\r\nset NODE_ENV=hunter2\r\n'],
    ['after a value of several lines', 4, 'A="b\nc\n"\n\u200bNODE_ENV=hunter2\n'],
    ['in another encoding than the lines before it', 3, mixed],
  ])('is an error if a line is no setting: one %s', (_name, line, content) => {
    writeFileSync(join(cwd, '.env'), content);
    const [error, ...others] = errorsOf({});
    expect(error).toContain(`.env has a line ${line} that is no setting`);
    expect(error).not.toContain('hunter2');
    expect(others).toEqual([]);
  });

  it('may have comments, names alone, values of several lines, and every way to write an assignment', () => {
    write(
      '.env',
      ` # x = y\n\nHOME_ONLY\nexport A\nexport B = 'c # d' # e\nC: "f\n-- g\n" # h\n\tD=\nE=i = "j\n#\nF='k\rLOG_LEVEL=warn\rPORT=4000`,
    );
    expect(loadSettings({}, cwd)).toMatchObject({ port: 4000, logLevel: 'warn' });
  });

  const SECRET_NAME = 'PROVIDERS_CORP_CLIENT_SECRET';
  const CUT = 'is cut at #';
  const OPEN = 'begins with a quotation mark that is not closed';
  it.each<[string, string, readonly string[]]>([
    ['a # in the value', `${SECRET_NAME}=abcdefghijklmnop#qrst`, [CUT]],
    ['a # in a name with dots', 'providers.corp.client_secret=hunter2#x', [CUT]],
    ['a # at its begin', `export ${SECRET_NAME}=#hunter2`, [CUT]],
    ['a # behind a quotation mark', `${SECRET_NAME}="hunter2"#x`, [CUT]],
    ['a # behind a colon', `${SECRET_NAME}: hunter2#x`, [CUT]],
    ['a # in an open quotation', `${SECRET_NAME}="hunter2#x`, [CUT, OPEN]],
    ['an open quotation', `${SECRET_NAME}='hunter2`, [OPEN]],
    ['a setting in a quotation', `${SECRET_NAME}='hunter2\nPORT=4000\nHOST='`, ['contains another setting']],
    ['two values', `${SECRET_NAME}=hunter2\n${SECRET_NAME}=hunter3`, ['is set twice']],
    ['another variable', `${SECRET_NAME}=hunter2\${HOME}`, ['names another variable']],
    ['a key of several lines', `${SECRET_NAME}="-----BEGIN\nhunter2=\nA=="`, []],
    ['a comment', `${SECRET_NAME}=hunter2 # one`, []],
    ['a comment instead of a value', `${SECRET_NAME}= # none`, []],
    ['a # in a quotation', `${SECRET_NAME}='hunter2#x\${A}' # one`, []],
    ['one value twice', `${SECRET_NAME}=hunter2\n${SECRET_NAME}="hunter2"`, []],
    ['spaces', `${SECRET_NAME} = hunter 2 $5`, []],
    ['a variable of another program', 'OTHER_SECRET=hunter2#x', []],
  ])('warns of what is read otherwise than it looks: %s', (_name, text, expected) => {
    write('.env', `${text.replaceAll('\\n', '\n')}\n`);
    const warnings = loadSettings({}, cwd).warnings.filter((line) => line.includes('.env'));
    expect(warnings).toEqual(expected.map((part) => expect.stringContaining(part) as unknown));
    for (const line of warnings) expect(line).toMatch(/^(?:PROVIDERS_CORP_|providers\.corp\.)\S+ in \.env /);
    expect(warnings.join()).not.toMatch(/hunter|abc|qrst/);
  });

  it('has no warnings about a value that the environment replaces', () => {
    write('.env', `${SECRET_NAME}=hunter2#x\n`);
    expect(loadSettings({ [SECRET_NAME]: 'x' }, cwd).warnings.join()).not.toContain('.env');
  });

  // `docker --env-file` keeps quotation marks; some editors replace them by typographic ones.
  it.each(['"hunter2"', '„hunter2“'])(
    'warns of a value in quotation marks, without the value: %s',
    (text) => {
      const { warnings } = loadSettings({ 'providers.idp.client_secret': text, SOMETHING_ELSE: text }, cwd);
      const found = warnings.filter((line) => line.includes('quotation mark'));
      expect(found).toEqual([expect.stringMatching(/^providers\.idp\.client_secret begins and ends/)]);
      expect(found.join()).not.toContain('hunter2');
      expect(errorsOf({ SERVICE_KEYS: `"${'k'.repeat(32)}"` })[0]).toContain('quotation mark');
    },
  );
});

describe('<NAME>_FILE', () => {
  const A = { 'providers.a.url': 'https://a.example', 'providers.a.client_id': 'a' };
  const REQUIRED = { NODE_ENV: 'production', REDIRECT_URIS: 'https://app.example/cb', TRUST_PROXY: 'false' };

  it('holds a secret, of the service or of a provider in either spelling', () => {
    write('database', 'postgres://u:p@db.example/x\r\n');
    write('key', `${'ab'.repeat(32)}\n`);
    write('keys', 'k'.repeat(32));
    write('redis', 'redis://redis.example\n');
    write('client', 'client secret \n');
    const settings = loadSettings(
      {
        DATABASE_URL_FILE: 'database',
        SECRET_KEY_FILE: join(cwd, 'key'),
        SERVICE_KEYS_FILE: 'keys',
        REDIS_URL_FILE: 'redis',
        ...A,
        PROVIDERS_A_CLIENT_SECRET_FILE: 'client',
        'providers.b-2.url': 'https://b.example',
        'providers.b-2.client_id': 'b',
        'providers.b-2.client_secret_file': 'client',
      },
      cwd,
    );
    expect(settings.databaseUrl).toBe('postgres://u:p@db.example/x');
    expect(derived(settings)).toBe(derived(parseSettings({ SECRET_KEY: 'ab'.repeat(32) })));
    expect(settings.serviceKeys).toEqual([
      { name: 'all-1', key: 'k'.repeat(32), rights: ['push', 'read', 'support', 'users'] },
    ]);
    expect(settings.redisUrl).toBe('redis://redis.example');
    for (const name of ['a', 'b-2']) {
      expect(settings.providers.get(name)).toMatchObject({ clientSecret: 'client secret ', options: {} });
    }
  });

  it('of a provider follows the rules of production when it is read again, too', () => {
    write('client', 's'.repeat(16));
    const settings = loadSettings({ ...PRODUCTION, ...A, PROVIDERS_A_CLIENT_SECRET_FILE: 'client' }, cwd);
    const { parser } = settings.providers.get('a')!.clientSecretFile!;
    expect(parser.parse('t'.repeat(16))).toBe('t'.repeat(16));
    expect(() => parser.parse('t'.repeat(15))).toThrow(InvalidValue);
  });

  it('is an error, one line each, when it cannot be read, is empty, or comes beside the secret itself', () => {
    write('empty', '\n');
    write('key', 'ab'.repeat(32));
    const errors = errorsOf({
      ...REQUIRED,
      ...A,
      DATABASE_URL_FILE: 'nowhere',
      SERVICE_KEYS_FILE: 'empty',
      SECRET_KEY: 'cd'.repeat(32),
      SECRET_KEY_FILE: 'key',
      'providers.a.client_secret_file': 'nowhere',
    });
    expect(errors).toEqual([
      `DATABASE_URL_FILE cannot be read (ENOENT). Use the path of a readable file that holds DATABASE_URL. Value: "${join(cwd, 'nowhere')}".`,
      `SERVICE_KEYS_FILE is an empty file. Use the path of a file that holds SERVICE_KEYS. Value: "${join(cwd, 'empty')}".`,
      'SECRET_KEY and SECRET_KEY_FILE are both set. Use one of the two.',
      expect.stringContaining('providers.a.client_secret_file cannot be read'),
    ]);
  });

  it('is the variable that is named where its content is invalid, and the content is never shown', () => {
    write('key', 'hunter2');
    const secrets = ['DATABASE_URL', 'REDIS_URL', 'SECRET_KEY', 'SERVICE_KEYS'].map((name) => `${name}_FILE`);
    const all = [...secrets, 'providers.a.client_secret_file'];
    const files = Object.fromEntries(all.map((name) => [name, 'key']));
    const errors = errorsOf({ ...REQUIRED, ...A, ...files });
    expect(new Set(errors.map((error) => error.split(' ')[0]))).toEqual(new Set(all));
    expect(errors.join()).not.toContain('hunter2');
  });
});

describe('the generated SECRET_KEY', () => {
  it('is kept under DATA_DIR for its owner only, with a warning the first time', () => {
    const first = loadSettings({ DATA_DIR: 'state' }, cwd);
    expect(first.dataDir).toBe(join(cwd, 'state'));
    expect(readdirSync(first.dataDir)).toEqual(['secret-key', 'service-key']);
    expect(statSync(join(first.dataDir, 'secret-key')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(first.dataDir, 'secret-key'), 'utf8')).toMatch(/^[0-9a-f]{64}$/);
    expect(first.warnings.join()).toContain(join(cwd, 'state', 'secret-key'));
    const second = loadSettings({ DATA_DIR: 'state' }, cwd);
    expect(derived(second)).toBe(derived(first));
    expect(second.warnings.join()).not.toContain('SECRET_KEY');
  });

  it('is not generated by a start that is refused', () => {
    expect(errorsOf({ PORT: 'x' })).toHaveLength(1);
    expect(existsSync(join(cwd, 'data'))).toBe(false);
  });

  it('has a service key beside it, which the start prints, unless SERVICE_KEYS is set or in production', () => {
    const { generatedServiceKey, serviceKeys, warnings } = loadSettings({ DATA_DIR: 'state' }, cwd);
    expect(generatedServiceKey).toMatch(/^[0-9a-f]{64}$/);
    expect(serviceKeys).toEqual([
      { name: 'all-1', key: generatedServiceKey, rights: ['push', 'read', 'support', 'users'] },
    ]);
    expect(warnings.join()).toContain(
      `A key with all rights was generated: ${join(cwd, 'state', 'service-key')}.`,
    );
    expect(warnings.join()).not.toContain(generatedServiceKey);
    expect(loadSettings({ DATA_DIR: 'state' }, cwd)).toMatchObject({ generatedServiceKey });
    const own = loadSettings({ DATA_DIR: 'state', SERVICE_KEYS: 'k'.repeat(32) }, cwd);
    expect([own.generatedServiceKey, own.serviceKeys.length]).toEqual([undefined, 1]);
    const production = loadSettings({ ...PRODUCTION, DATA_DIR: 'state' }, cwd);
    expect([production.generatedServiceKey, production.serviceKeys]).toEqual([undefined, []]);
  });

  it('is an error if the file holds no key, or cannot be written', () => {
    mkdirSync(join(cwd, 'data'));
    write('data/secret-key', 'hunter2');
    expect(errorsOf({})).toEqual([expect.stringMatching(/^SECRET_KEY .* holds no key/)]);
    expect(errorsOf({}).join()).not.toContain('hunter2');
    expect(readFileSync(join(cwd, 'data/secret-key'), 'utf8')).toBe('hunter2'); // never replaced
    write('file', '');
    expect(errorsOf({ DATA_DIR: 'file' })).toEqual([
      expect.stringMatching(/^SECRET_KEY .* cannot be used \(EEXIST\)/),
    ]);
  });

  it.each([
    ['a link that leads nowhere', 'is a symbolic link', (path: string) => symlinkSync(join(cwd, 'x'), path)],
    ['a named pipe', 'is not a regular file', (path: string) => execFileSync('mkfifo', [path])],
    ['an endless file', 'cannot be used (EFBIG)', () => write('data/secret-key', 'a'.repeat(1 << 20))],
  ])('%s in place of its file is an error, and is neither followed nor waited for', (_, error, put) => {
    write('key', 'ab'.repeat(32));
    mkdirSync(join(cwd, 'data'));
    put(join(cwd, 'data', 'secret-key'));
    expect(errorsOf({})).toEqual([
      expect.stringContaining(`secret-key ${error}. Use a value, or another DATA_DIR`),
    ]);
    expect(existsSync(join(cwd, 'x'))).toBe(false);
  });

  it('is used with a warning if other accounts can read its file', () => {
    loadSettings({}, cwd);
    chmodSync(join(cwd, 'data/secret-key'), 0o640);
    const exposed = `data/secret-key has the mode 640, so other accounts may know or replace`;
    expect(loadSettings({}, cwd).warnings).toContainEqual(expect.stringContaining(exposed));
  });

  it('is one for processes that start at once', async () => {
    const source = new URL('../../dist/src/platform/config/secrets/generated-secret.js', import.meta.url)
      .href;
    const script = `
      const { generatedSecret } = await import(${JSON.stringify(source)});
      process.stdout.write('ready\\n');
      process.stdin.once('data', () => {
        const keys = Array.from({ length: 50 }, (_, n) => generatedSecret(${JSON.stringify(cwd)} + '/' + n, 'SECRET_KEY', { parse: (text) => text }, 'generated').value);
        process.stdout.write(keys.join(), () => process.exit());
      });`;
    const args = ['--input-type=module', '-e', script];
    const children = [1, 2, 3].map(() =>
      spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] }),
    );
    await Promise.all(children.map(({ stdout }) => once(stdout, 'data')));
    const outputs = children.map(async ({ stdout }) => (await stdout.toArray()).join(''));
    for (const { stdin } of children) stdin.write('go\n');
    const [first, ...others] = await Promise.all(outputs);
    expect(first?.split(',')).toHaveLength(50);
    expect(others).toEqual([first, first]);
  });
});

describe('DATA_DIR that other accounts can change (skipped on Windows)', () => {
  const EMBEDDED = { ...PRODUCTION, DATABASE_URL: '', DATA_DIR: 'state' };
  const NAMED = { DATABASE_URL: PRODUCTION.DATABASE_URL };
  const itOnUnix = needs({ 'Linux or macOS': process.getuid !== undefined }).it;
  const itAsRoot = needs({ root: process.getuid?.() === 0 }).it;
  const accepted =
    'a directory of this account or of root, to which no other account may write (chown, chmod go-w)';
  const state = (): string => join(cwd, 'state');
  const warningsOf = (env: Environment): readonly string[] =>
    loadSettings(env, cwd).warnings.filter((line) => line.startsWith('DATA_DIR'));
  beforeEach(() => mkdirSync(state(), { mode: 0o700 }));

  itOnUnix.each(['1777', '720'])('mode %s: refused in production, else a warning', (mode) => {
    chmodSync(state(), Number.parseInt(mode, 8));
    const exposed = `has the mode ${mode}`;
    expect(errorsOf(EMBEDDED)).toEqual([`DATA_DIR ${exposed}. Use ${accepted}. Value: "${state()}".`]);
    expect(warningsOf({ DATA_DIR: 'state' })).toEqual([
      `DATA_DIR ${exposed}; production accepts ${accepted}.`,
    ]);
    for (const NODE_ENV of ['production', 'development']) {
      expect(warningsOf({ ...EMBEDDED, ...NAMED, SERVICE_KEYS: 'k'.repeat(32), NODE_ENV })).toEqual([]); // nothing is kept there
    }
  });

  itOnUnix('others may read it; the mode of what a link leads to counts', () => {
    symlinkSync(state(), join(cwd, 'link'));
    chmodSync(state(), 0o755);
    expect(warningsOf({ ...EMBEDDED, DATA_DIR: 'link' })).toEqual([]);
    chmodSync(state(), 0o777);
    expect(errorsOf({ ...EMBEDDED, DATA_DIR: 'link' })).toEqual([
      expect.stringContaining('DATA_DIR has the mode 777'),
    ]);
  });

  itAsRoot('a directory, link or key of another account (needs root)', () => {
    symlinkSync(state(), join(cwd, 'link'));
    lchownSync(join(cwd, 'link'), 65534, 65534);
    const theirs = 'belongs to the account with the user id 65534';
    expect(errorsOf({ ...EMBEDDED, DATA_DIR: 'link' })).toEqual([
      expect.stringContaining(`DATA_DIR ${theirs}.`),
    ]);
    chownSync(state(), 65534, 65534);
    expect(errorsOf(EMBEDDED)).toEqual([expect.stringContaining(`DATA_DIR ${theirs}.`)]);
    expect(warningsOf({ DATA_DIR: 'state' })).toEqual([expect.stringContaining(theirs)]);
    chownSync(join(state(), 'secret-key'), 65534, 65534);
    expect(loadSettings({ DATA_DIR: 'state' }, cwd).warnings).toContainEqual(
      expect.stringContaining(`secret-key ${theirs}, so other accounts may know`),
    );
  });

  itOnUnix('is created closed', () => {
    rmSync(state(), { recursive: true });
    expect(warningsOf({ DATA_DIR: 'state' })).toEqual([]);
    expect(statSync(state()).mode & 0o777).toBe(0o700);
  });
});

it('.env.example is accepted with every line of the service in use', () => {
  const example = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8');
  const [service = ''] = example.split('# --- Providers');
  write('.env', service.replace(/^# (?=[A-Z_]+=)/gm, ''));
  expect(loadSettings({}, cwd)).toMatchObject({ port: 3000, accessTokenTtl: 3600 });
});
