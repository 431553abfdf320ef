import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { transform } from 'esbuild';
import { PackageProject } from '../support/package-project.js';
import { startTestService, type TestService } from '../support/service.js';
import { signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { SERVICE_KEY } from '../../packages/server/test/support/fake-service.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NEST = ['@nestjs/common', '@nestjs/core', '@nestjs/platform-express', 'reflect-metadata', 'rxjs'];

/** The packed package, installed in an empty project. */
let project: PackageProject;
beforeAll(async () => {
  project = await PackageProject.install(['server'], 'module');
});
afterAll(() => project?.remove());

it('can be imported without any framework, and lets the process end', async () => {
  const output = await project.run(
    `import { createVerifier, LatchkeyError } from '@latchkey/server';
    const names = ['express', 'fastify', 'hono', 'nestjs'];
    const middleware = await Promise.all(names.map((name) => import('@latchkey/server/' + name)));
    const verifier = createVerifier({ issuer: 'http://localhost:9' });
    const error = await verifier.verify('x').catch((reason) => reason);
    const listening = createVerifier({ issuer: 'http://localhost:9', serviceKey: 'k' });
    listening.close();
    console.log(JSON.stringify([middleware.map(({ authenticate }) => typeof authenticate), error.code, error instanceof LatchkeyError]));`,
  );
  expect(JSON.parse(output)).toEqual([Array(4).fill('function'), 'invalid_token', true]);
});

/** Jest has a module loader of its own, in which `require()` of an ES module fails with older versions. */
it('works under Jest in a CommonJS project, as its README says', async () => {
  const commonjs = await PackageProject.install(['server'], 'commonjs');
  try {
    for (const name of ['jest', '@swc/core', '@swc/jest']) await commonjs.link(name);
    const readme = await readFile(join(commonjs.place('server'), 'README.md'), 'utf8');
    const [, settings] = /```js\n\/\/ jest\.config\.js\n(.*?)```/s.exec(readme) ?? [];
    await writeFile(join(commonjs.directory, 'jest.config.js'), settings!);
    await writeFile(
      join(commonjs.directory, 'api.test.js'),
      `const { createVerifier, LatchkeyError } = require('@latchkey/server');
      const { authenticate } = require('@latchkey/server/express');
      const { createSessions } = require('@latchkey/server/session');
      test('is the same module everywhere', async () => {
        const verifier = createVerifier({ issuer: 'http://localhost:9' });
        await expect(verifier.verify('x')).rejects.toBeInstanceOf(LatchkeyError);
        const response = { setHeader() {}, end(text) { this.text = text; } };
        await authenticate(verifier)({ headers: { authorization: 'Bearer x' } }, response, (error) => { throw error; });
        expect(response).toMatchObject({ statusCode: 401, text: expect.stringContaining('invalid_token') });
        const { issuer, clientUrl } = { issuer: 'http://localhost:9', clientUrl: 'http://localhost:3001' };
        createSessions({ issuer, clientUrl, cookieSecret: 'x'.repeat(32) }).close();
      });`,
    );
    // Jest resolves links: as with pnpm, its settings have to find packages below other folders.
    const env = { ...process.env, NODE_OPTIONS: '' };
    const jest = [join(ROOT, 'node_modules/jest/bin/jest.js'), '--rootDir', commonjs.directory];
    const { stderr } = await promisify(execFile)(process.execPath, jest, { cwd: commonjs.directory, env });
    expect(stderr).toContain('1 passed');
  } finally {
    await commonjs.remove();
  }
});

/** The servers of docs/guides/api.md, unchanged, with the packed package and the real service. */
describe('the guide', () => {
  let provider: StubProvider;
  let service: TestService;
  const running: ChildProcess[] = [];

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService({ ...provider.env(), SERVICE_KEYS: SERVICE_KEY });
    for (const name of ['express', 'fastify', ...NEST]) await project.link(name);
  });
  afterAll(async () => {
    for (const child of running) child.kill('SIGKILL');
    await service?.close();
    await provider?.close();
  });

  const start = async (guide: string): Promise<string> => {
    const text = readFileSync(new URL('../../docs/guides/api.md', import.meta.url), 'utf8');
    const [, code] = new RegExp(`^## ${guide}\\n.*?\`\`\`[jt]s\\n(.*?)\`\`\``, 'ms').exec(text) ?? [];
    const tsconfigRaw = { compilerOptions: { experimentalDecorators: true } };
    const script = await transform(code!, { loader: 'ts', format: 'esm', target: 'es2022', tsconfigRaw });
    await writeFile(join(project.directory, `${guide}.js`), script.code);
    const env = { ...process.env, LATCHKEY_URL: service.url, LATCHKEY_KEY: SERVICE_KEY, PORT: '0' };
    const child = spawn(process.execPath, [`${guide}.js`], { cwd: project.directory, env });
    running.push(child);
    child.stderr.pipe(process.stderr);
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    return line.toString().trim();
  };

  it.each(['Express', 'Fastify', 'NestJS'])('to %s: its server does what it says', async (guide) => {
    const [url, { access_token: token, user_id: user }] = await Promise.all([
      start(guide),
      signIn(service.url),
    ]);
    const call = (method: string, path: string, bearer = token): Promise<Response> =>
      fetch(`${url}/api/${path}`, { method, headers: bearer ? { Authorization: `Bearer ${bearer}` } : {} });

    const me = await call('GET', 'me');
    expect([me.status, await me.json()]).toEqual([200, { user, session: expect.any(String) as string }]);
    const nobody = await call('GET', 'me', '');
    expect([nobody.status, nobody.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    const order = await call('POST', 'orders');
    expect([order.status, await order.json()]).toEqual([
      201,
      { order: { item: 'a book', for: user }, offset: expect.any(Number) as number },
    ]);
    expect(await (await call('GET', 'orders')).json()).toEqual([{ item: 'a book', for: user }]);
    expect((await call('POST', 'sign-out-everywhere')).status).toBe(204);
    await until(async () => (await call('GET', 'me')).status === 401);

    const child = running.at(-1)!;
    child.kill('SIGTERM');
    await once(child, 'exit');
  });
});
