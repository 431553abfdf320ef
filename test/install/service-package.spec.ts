import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  parsePasswordHash,
  verifyPassword,
} from '../../src/features/sample-provider/passwords/password-hash.js';
import { freePort } from '../support/free-port.js';
import { PackageProject } from '../support/package-project.js';

/** The packed service, installed in an empty folder. */
let project: PackageProject;
beforeAll(async () => {
  project = await PackageProject.install(['latchkey']);
  await chmod(project.directory, 0o711); // PostgreSQL's account passes through it to the data
});
afterAll(() => project?.remove());

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Running {
  readonly ended: Promise<Ended>;
  says(text: string): Promise<void>;
  stop(): void;
}

/** `npx --no-install latchkey …` in the project's folder, without npm around it. */
function latchkey(args: readonly string[], env: Record<string, string> = {}, input = ''): Running {
  const child = spawn(project.command('latchkey'), args, {
    cwd: project.directory,
    env: { PATH: process.env['PATH'], ...env },
  });
  child.stdin.on('error', () => undefined); // most commands do not read it
  child.stdin.end(input);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const closed = once(child, 'close') as Promise<[number | null]>;
  return {
    ended: closed.then(([code]) => ({ code, stdout, stderr })),
    async says(text) {
      while (!stdout.includes(text)) {
        const end = await Promise.race([once(child.stdout, 'data'), closed]);
        if (child.exitCode !== null) throw new Error(`ended with ${String(end)}: ${stdout}${stderr}`);
      }
    },
    stop: () => void child.kill('SIGTERM'),
  };
}

it('imports nothing of @latchkey/*', async () => {
  const modules = await readdir(join(project.directory, 'node_modules'));
  expect(modules).not.toContain('@latchkey');
});

describe('latchkey serve, in an empty folder', () => {
  let service: Running;
  let url: string;
  const data = (): string => join(project.directory, 'data');

  beforeAll(async () => {
    const port = await freePort();
    url = `http://localhost:${port}`;
    service = latchkey(['serve'], { PORT: String(port) });
    await service.says(`Latchkey is ready: ${url}`);
  });
  afterAll(() => service?.stop());

  const get = async (path: string): Promise<[string, string]> => {
    const response = await fetch(url + path);
    const type = response.headers.get('content-type')?.split(';')[0];
    return [`${response.status} ${type}`, await response.text()];
  };

  it('brings its database', async () => {
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    expect((await readdir(data())).toSorted()).toEqual(['postgres', 'secret-key', 'service-key']);
    const others = ['data', 'node_modules', 'package.json'];
    expect((await readdir(project.directory)).toSorted()).toEqual(others); // nothing else is written
  });

  it('brings the files that it serves: the demo page, and the SDK that the page loads', async () => {
    for (const page of ['/', '/callback']) expect((await get(page))[0]).toBe('200 text/html');
    for (const style of ['style', 'page', 'flow'])
      expect((await get(`/demo/${style}.css`))[0]).toBe('200 text/css');
    for (const script of ['demo', 'client', 'channel'])
      expect([script, (await get(`/demo/${script}.js`))[0]]).toEqual([script, '200 text/javascript']);
    const [, sdk] = await get('/latchkey-client/index.js');
    expect(sdk).toMatch(/export\{[^}]*createClient/);
    const [, map] = /\/\/# sourceMappingURL=(\S+)\n$/.exec(sdk)!;
    expect((await get(`/latchkey-client/${map}`))[1]).toContain('"../src/client.ts"');
  });

  it('has its commands at hand', async () => {
    const { code, stdout } = await latchkey(['keys', 'list', '--json']).ended;
    expect([code, JSON.parse(stdout)]).toEqual([0, [expect.objectContaining({ state: 'signing' })]]);
    expect(await latchkey(['distribute']).ended).toMatchObject({
      code: 2,
      stderr: 'distribute: DATABASE_URL is not set, and the embedded PostgreSQL has no Citus\n',
    });
  });

  it('stops its database at the end', async () => {
    service.stop();
    expect(await service.ended).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(join(data(), 'postgres/postmaster.pid'))).toBe(false);
  });
});

it('in production it does not start without the required settings, and names them', async () => {
  const { code, stdout, stderr } = await latchkey(['serve'], { NODE_ENV: 'production' }).ended;
  expect([code, stdout]).toEqual([1, '']);
  for (const name of ['DATABASE_URL', 'SECRET_KEY', 'REDIRECT_URIS']) expect(stderr).toContain(name);
  expect(stderr).not.toMatch(/^\s+at /m);
});

describe('the command', () => {
  it('prints its version, and its usage', async () => {
    const { version } = await project.manifest('latchkey');
    for (const option of ['--version', '-v'])
      expect(await latchkey([option]).ended).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
    for (const option of ['--help', '-h']) {
      const { code, stdout, stderr } = await latchkey([option]).ended;
      expect([code, stderr]).toEqual([0, '']);
      for (const name of [
        'serve',
        'keys',
        'check-provider',
        'hash-password',
        'distribute',
        'backup',
        'restore',
      ])
        expect(stdout).toMatch(new RegExp(`^  ${name} +[a-z]`, 'm'));
    }
  });

  it.each([
    { args: [], said: /^latchkey: the command is missing\n\nUsage: latchkey <command>\n/ },
    { args: ['toString'], said: /^latchkey: there is no command "toString"\n\nUsage: latchkey <command>\n/ },
    { args: ['a\u001b[2Jb'], said: /^latchkey: there is no command "a\\u001b\[2Jb"\n/ },
    { args: ['serve', '--port', '1'], said: /^Usage: latchkey serve\n/ },
    { args: ['keys', 'burn'], said: /^Usage: latchkey keys <command>\n/ },
    { args: ['hash-password', 'secret'], said: /^Usage: latchkey hash-password\n(?![^]*secret)/ },
    { args: ['distribute', '--all'], said: /^Usage: latchkey distribute\n/ },
    { args: ['move-database'], said: /^Usage: latchkey move-database <url \| -> \[--distribute\]\n/ },
    { args: ['check-provider'], said: /^check-provider: [^]*\n\nUsage: latchkey check-/ },
  ])('answers $args with the usage, and with exit code 2', async ({ args, said }) => {
    const { code, stdout, stderr } = await latchkey(args).ended;
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(said);
  });

  it('makes the hash of a password for an accounts file', async () => {
    const { code, stdout } = await latchkey(['hash-password'], {}, 'une clé\n').ended;
    expect(code).toBe(0);
    expect(await verifyPassword('une clé', parsePasswordHash(stdout.trim())!)).toBe(true);
    expect(await latchkey(['hash-password']).ended).toMatchObject({ code: 1, stdout: '' });
  });
});

const ADAPTER = `
  import type { AuthorizationRequest, ExchangeRequest, ProviderAdapter, ProviderIdentity, ProviderSettings } from 'latchkey/adapter';

  const adapter: ProviderAdapter = {
    authorizationUrl: ({ url, clientId }: ProviderSettings, { state, redirectUri }: AuthorizationRequest) => {
      const page = new URL('/login', url);
      page.search = String(new URLSearchParams({ clientId, state, redirectUri }));
      return { url: page, memory: { page: page.href } };
    },
    async exchange({ options }, { code, signal }: ExchangeRequest): Promise<ProviderIdentity> {
      const answer = await fetch(options['whoami'] + code, { signal });
      return { provider_user_id: await answer.text() };
    },
    issuer: 'own',
    check: ({ options }) => {
      if (!options['whoami']) throw Object.assign(new Error('whoami is missing'), { error: 'invalid_request' });
    },
  };
  export default adapter;

  // @ts-expect-error without exchange() it is none
  export const none: ProviderAdapter = { authorizationUrl: () => new URL('https://provider.example') };
`;

it('has types that are enough for an adapter in strict mode, of no other package', async () => {
  const seen = new Set([join(project.place('latchkey'), 'dist/src/provider/adapter-types.d.ts')]);
  for (const file of seen) {
    const declared = readFileSync(file, 'utf8');
    for (const [, path = ''] of declared.matchAll(/(?:from|import|types=)\s*\(?['"]([^'"]+)['"]/g)) {
      expect([file, path]).toEqual([file, expect.stringMatching(/^\.{1,2}\/.*\.js$/)]);
      seen.add(join(dirname(file), path.replace(/\.js$/, '.d.ts')));
    }
  }
  expect(seen.size).toBeGreaterThan(1);
  const options = { lib: ['es2022', 'dom'], module: 'nodenext', verbatimModuleSyntax: true };
  expect(await project.typeCheck({ 'adapter.mts': ADAPTER }, options)).toBe('');
});
