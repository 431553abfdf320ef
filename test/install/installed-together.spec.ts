import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CLIENT, ContractProvider } from '../../packages/check-provider/test/support/contract-provider.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { PackageProject, PACKED } from '../support/package-project.js';
import { startServiceProcess, type ServiceProcess } from '../support/service-process.js';
import { signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';

/** All packed packages in one CommonJS project, as `npm init` makes it. */
let project: PackageProject;
beforeAll(async () => {
  project = await PackageProject.install(PACKED);
  await project.link('@types/node');
}, 180_000); // it may be the one that packs them
afterAll(() => project?.remove());

it('brings each command once, and that of the checker checks a provider', async () => {
  const { bin: service } = await project.manifest('latchkey');
  const { bin: checker } = await project.manifest('check-provider');
  expect([service, checker].flatMap((bin) => Object.keys(bin!))).toEqual([
    'latchkey',
    'latchkey-check-provider',
  ]);
  const run = promisify(execFile);
  const command = project.command('latchkey-check-provider');
  const { stdout: help } = await run(command, ['--help']);
  expect(help).toMatch(/^Usage: latchkey-check-provider <url> --client-id/);
  const checked = await ContractProvider.start();
  try {
    const credentials = ['--client-id', CLIENT.id, '--client-secret', CLIENT.secret];
    const { stdout } = await run(command, [checked.url, ...credentials]);
    expect(stdout).toMatch(/ 0 fail, 0 advice, /);
  } finally {
    await checked.close();
  }
});

const IMPORTS = `
  import { createClient, LatchkeyError as ClientError, type Session } from '@latchkey/client';
  import { startEmbeddedPostgres, type EmbeddedPostgres } from '@latchkey/embedded-postgres';
  import { startTemporaryPostgres } from '@latchkey/embedded-postgres/temporary';
  import { createVerifier, LatchkeyError, type Claims } from '@latchkey/server';
  import { authenticate as forExpress } from '@latchkey/server/express';
  import { authenticate as forNest } from '@latchkey/server/nestjs';
  import type { ProviderAdapter } from 'latchkey/adapter';
  import { adapterChecks, type Play } from 'latchkey/adapter-test';

  const verifier = createVerifier({ issuer: 'http://localhost:3000' });
  export const claims: Promise<Claims> = verifier.verify('token');
  export const session: Session | undefined = createClient({ url: 'u', provider: 'mock', redirectUri: '/' }).session;
  export const database: Promise<EmbeddedPostgres> = startEmbeddedPostgres({ dataDir: 'd', log: (line) => line.length });
  export const pid: Promise<number> = startTemporaryPostgres({ dataDir: 'd' }).then((server) => server.pid);
  export const all = [ClientError, LatchkeyError, forExpress(verifier), forNest];
  export const checks = (adapter: ProviderAdapter, play: Play): Promise<void>[] => adapterChecks(adapter, play).map(({ run }) => run());
  // @ts-expect-error there is no such setting: the types are not \`any\`
  createVerifier({ issuer: 'http://localhost:3000', hope: true });
  // @ts-expect-error by one id or the other
  void verifier.users.signOut({ provider: 'mock' });
  // @ts-expect-error nor here
  createClient({ url: 'u', provider: 'mock', redirectUri: '/', hope: true });
`;

// TypeScript's ways to find modules. With node16, CommonJS cannot load ES modules, so only .mts files can import the packages.
it.each([
  { module: 'node16', moduleResolution: 'node16', files: ['types.mts'] },
  { module: 'nodenext', moduleResolution: 'nodenext', files: ['types.mts', 'types.cts'] },
  { module: 'preserve', moduleResolution: 'bundler', files: ['types.ts'] },
])('has types for moduleResolution $moduleResolution', async ({ files, ...options }) => {
  const sources = Object.fromEntries(files.map((file) => [file, IMPORTS]));
  // The packages' own declarations are checked once, with what they need.
  const skipLibCheck = options.moduleResolution !== 'nodenext';
  const complete = { ...options, lib: ['es2022', 'dom'], types: ['node'], skipLibCheck };
  expect(await project.typeCheck(sources, complete)).toBe('');
});

describe('together', () => {
  let database: TestDatabase;
  let provider: StubProvider;
  let service: ServiceProcess;

  beforeAll(async () => {
    database = await createDatabase();
    provider = await StubProvider.start();
    const main = join(project.place('latchkey'), 'dist/src/main.js');
    service = await startServiceProcess({ ...provider.env(), DATABASE_URL: database.url }, main);
  });
  afterAll(async () => {
    await service?.end('SIGTERM');
    await provider?.close();
    await database?.close();
  });

  it.each([
    { how: 'require()', file: 'script.cjs', load: (name: string) => `require('${name}')` },
    { how: 'import', file: 'script.mjs', load: (name: string) => `await import('${name}')` },
  ])('sign in, verify and sign out, loaded by $how', async ({ file, load }) => {
    const device_id = '0b0e3c5e-6d51-4f0c-9d3c-6a3a4f4b7e11';
    const tokens = await signIn(service.url, 'ada', { device_id });
    const stored = JSON.stringify({
      ...tokens,
      device_id,
      received_at: Date.now(),
      signed_in_at: Date.now(),
    });
    const output = await project.run(
      `const load = async () => [${load('@latchkey/client')}, ${load('@latchkey/server')}];
      load().then(async ([{ createClient }, { createVerifier, LatchkeyError }]) => {
        const values = new Map([['latchkey:${service.url}', ${JSON.stringify(stored)}]]);
        const storage = { getItem: (key) => values.get(key) ?? null, setItem: (key, value) => values.set(key, value), removeItem: (key) => values.delete(key) };
        const client = createClient({ url: '${service.url}', provider: 'stub', redirectUri: '/callback', storage });
        const verifier = createVerifier({ issuer: '${service.url}' });
        const { sub } = await verifier.verify(await client.accessToken());
        await client.signOut();
        const other = await import('@latchkey/server');
        console.log(JSON.stringify({ sub, session: client.session ?? null, isOne: other.LatchkeyError === LatchkeyError }));
      });`,
      file,
    );
    expect(JSON.parse(output)).toEqual({ sub: tokens.user_id, session: null, isOne: true });
  });
});
