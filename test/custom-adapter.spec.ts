import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import request from 'supertest';
import { parseSettings } from '../src/config/parse-settings.js';
import { Provider } from '../src/provider/provider.js';
import type { ProviderAdapter } from '../src/provider/provider-adapter.js';
import { ProviderRegistry } from '../src/provider/provider.registry.js';
import { createDatabase } from './support/database.js';
import { query } from './support/query.js';
import { startTestService, type TestService } from './support/service.js';
import { startServiceProcess } from './support/service-process.js';
import { providerSettings } from './support/provider-settings.js';
import { StubProvider } from './support/stub-provider.js';

const EXAMPLE = fileURLToPath(new URL('../examples/provider-adapter/', import.meta.url));
const SECRET = 'a client secret of the stub';

/** Adapters that integrators write (contract §2 `adapter`, §6). */
describe('an adapter of an integrator', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'latchkey-adapter-'));
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  function file(name: string, source: string): string {
    writeFileSync(join(directory, name), source);
    return join(directory, name);
  }

  const env = (adapter: string, url = 'http://127.0.0.1:1'): Record<string, string> => ({
    PROVIDERS_MOCK_ENABLED: 'false',
    'providers.corp.adapter': adapter,
    'providers.corp.url': url,
    'providers.corp.client_id': 'app',
    'providers.corp.client_secret': SECRET,
    'providers.corp.department': 'engineering',
  });

  async function begin(service: TestService): Promise<{ redirect_url: string; state: string }> {
    const { body } = await request(service.url)
      .get('/oauth2/authorize')
      .query({ provider: 'corp' })
      .expect(200);
    return body as { redirect_url: string; state: string };
  }

  async function signIn(service: TestService, code = 'c', more: object = {}): Promise<request.Response> {
    const { state } = await begin(service);
    return request(service.url)
      .post('/oauth2/token')
      .send({ code, state, ...more });
  }

  describe('the template', () => {
    let stub: StubProvider;
    let service: TestService;
    beforeAll(async () => {
      stub = await StubProvider.start();
      service = await startTestService(env(join(EXAMPLE, 'adapter.js'), stub.url));
    });
    afterAll(async () => {
      await service?.close();
      await stub?.close();
    });

    it('signs in', async () => {
      stub.answerWith(200, { id: 'u-1', name: 'Ada', mail: 'ada@corp.example', photo: 'ftp://no' });
      const { redirect_url, state } = await begin(service);
      expect(redirect_url).toBe(
        `${stub.url}/login?app=app&return_to=${encodeURIComponent(`${service.url}/callback`)}&state=${state}`,
      );
      await request(service.url).post('/oauth2/token').send({ code: 'a code', state }).expect(200);
      expect(stub.requests.map(({ path, body }) => [path, JSON.parse(body)])).toEqual([
        ['/api/login-codes', { app: 'app', secret: SECRET, code: 'a code' }],
      ]);
      const users = await query(
        service.databaseUrl,
        'SELECT provider, provider_user_id, username, email, avatar_url FROM users',
      );
      expect(users).toEqual([
        {
          provider: 'corp',
          provider_user_id: 'u-1',
          username: 'Ada',
          email: 'ada@corp.example',
          avatar_url: null,
        },
      ]);
    });

    it.each([
      [403, {}, 401, 'invalid_grant'],
      [500, {}, 500, 'server_error'],
      [200, { id: 7 }, 500, 'server_error'],
      [200, { id: '' }, 500, 'server_error'],
    ])('answers status %i with %j', async (status, body, expected, error) => {
      stub.answerWith(status, body);
      const response = await signIn(service);
      expect([response.status, (response.body as { error: string }).error]).toEqual([expected, error]);
    });

    it('has less than 50 lines', () => {
      expect(readFileSync(join(EXAMPLE, 'adapter.js'), 'utf8').split('\n').length).toBeLessThan(50);
    });
  });

  it('gets its settings, and what it wanted to remember, with the code', async () => {
    const adapter = file(
      'echo.mjs',
      `export default new (class {
        issuer = 'own';
        authorizationUrl(provider, { state }) {
          return { url: new URL('https://corp.example/?state=' + state), memory: { nonce: 'n-' + state } };
        }
        async exchange(provider, { code, state, redirectUri, iss, memory, signal }) {
          if (code === 'refused') throw Object.assign(new Error('no'), { error: 'invalid_client' });
          const same = memory.nonce === 'n-' + state && signal instanceof AbortSignal;
          return { provider_user_id: [same, code, redirectUri, iss, provider.options.department].join() };
        }
      })();`,
    );
    const service = await startTestService(env(adapter));
    try {
      expect((await signIn(service, 'c', { iss: 'https://corp.example' })).status).toBe(200);
      expect(await query(service.databaseUrl, 'SELECT provider_user_id AS id FROM users')).toEqual([
        { id: `true,c,${service.url}/callback,https://corp.example,engineering` },
      ]);
      expect((await signIn(service, 'refused')).body).toMatchObject({ error: 'invalid_client' });
    } finally {
      await service.close();
    }
  });

  it.each([
    ['nothing', 'undefined'],
    ['text', '"https://corp.example"'],
    ['a URL that is none', '({ url: "corp.example", memory: {} })'],
  ])('that makes %s of an authorization is a server_error', async (_name, answer) => {
    const adapter = file(
      `bad-${_name.length}.mjs`,
      `export default { authorizationUrl: () => ${answer}, exchange: async () => ({}) };`,
    );
    const service = await startTestService(env(adapter));
    try {
      await request(service.url).get('/oauth2/authorize').query({ provider: 'corp' }).expect(500);
    } finally {
      await service.close();
    }
  });

  it('that makes no authorization at all is given up at the deadline', async () => {
    const adapter: ProviderAdapter = {
      authorizationUrl: () => new Promise(() => undefined),
      exchange: () => Promise.reject(new Error('never asked')),
    };
    const settings = providerSettings('slow');
    const slow = new Provider(settings, adapter, 50);
    await expect(
      slow.authorizationUrl({ state: 's', redirectUri: 'https://a.example' }),
    ).rejects.toMatchObject({ error: 'server_error' });
  });

  describe('that is none', () => {
    const load = (adapter: string): Promise<ProviderRegistry> =>
      ProviderRegistry.load(parseSettings(env(adapter)), new Map());

    it.each<[string, () => string, string]>([
      ['no such file', () => join(directory, 'nothing.js'), 'cannot be loaded (Cannot find module'],
      ['no such package', () => 'oicd', 'cannot be loaded (Cannot find'],
      [
        'a file with a fault',
        () => file('fault.mjs', 'throw new Error("no\\nway")'),
        'cannot be loaded (no)',
      ],
      [
        'no default export',
        () => file('named.mjs', 'export const adapter = {};'),
        'has no authorizationUrl() and no exchange()',
      ],
      [
        'one function',
        () => file('half.mjs', 'export default { exchange() {} };'),
        'has no authorizationUrl()',
      ],
      [
        'a class',
        () => file('class.mjs', 'export default class { authorizationUrl() {} exchange() {} }'),
        'is no adapter',
      ],
      ['another package', () => 'dotenv', 'is no adapter'],
    ])('is told in one line: %s', async (_name, make, reason) => {
      const adapter = make();
      await expect(load(adapter)).rejects.toMatchObject({
        name: 'InvalidSettings',
        faults: [
          expect.stringMatching(/^providers\.corp\.adapter: was "[^\n]*; accepted: contract, oidc, [^\n]*$/),
        ],
      });
      await expect(load(adapter)).rejects.toThrow(reason);
    });

    it('stops the start, with that line and nothing else', async () => {
      const database = await createDatabase();
      try {
        const started = startServiceProcess({
          ...env('./no-such-adapter.js'),
          DATABASE_URL: database.url,
          LOG_LEVEL: 'error',
        });
        const { message } = (await started.catch((error: unknown) => error)) as Error;
        expect(message).not.toMatch(/^\s*at |"stack"/m);
        const text = message.split('\n').filter((line) => line !== '' && !line.startsWith('{')); // beside the log
        expect(text).toEqual([
          'the service ended with code 1:',
          'invalid settings, nothing was started:',
          expect.stringMatching(
            /^ {2}providers\.corp\.adapter: was ".*no-such-adapter\.js", which cannot be loaded .*; accepted: contract, /,
          ),
        ]);
      } finally {
        await database.drop();
      }
    });
  });

  describe('the contract test for authors', () => {
    /** Runs it on the template, changed so; returns what fails. */
    async function failures(change: (source: string) => string): Promise<string[]> {
      const copy = mkdtempSync(join(directory, 'author-'));
      cpSync(EXAMPLE, copy, { recursive: true });
      const template = readFileSync(join(EXAMPLE, 'adapter.js'), 'utf8');
      const changed = change(template);
      writeFileSync(join(copy, 'adapter.js'), changed);
      writeFileSync(join(copy, 'package.json'), '{"type":"module"}');
      const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
      const output = await new Promise<string>((resolve) => {
        const args = ['--test', '--test-reporter=tap', join(copy, 'adapter.test.js')];
        execFile(process.execPath, args, { env: environment }, (_error, stdout) => resolve(stdout));
      });
      expect(output).toMatch(/# pass \d+/);
      const failed = [...output.matchAll(/^ {4,8}not ok \d+ - (.*)$/gm)].map(([, name]) => name!);
      return failed.filter((name) => !['authorizationUrl', 'exchange'].includes(name));
    }

    it('passes on the template', async () => expect(await failures((source) => source)).toEqual([]));

    it.each<[string, string, string, string[]]>([
      [
        'a state left out',
        ', state }).toString',
        ' }).toString',
        ['passes state and redirect URI on unchanged, and keeps the secret to itself'],
      ],
      ['a redirect followed', "redirect: 'error',", '', ['follows no redirect']],
      ['a signal ignored', 'signal, //', '//', ['ends when the signal says so']],
      [
        'an error without code',
        "{ error: 'invalid_grant' }",
        '{}',
        ['says invalid_grant when the provider refuses the code'],
      ],
      [
        'a fault taken for a refusal',
        'response.status === 403',
        '!response.ok',
        ['fails when the provider has a fault of its own'],
      ],
      ['an answer without end', 'text.length > LARGEST_ANSWER', 'false', ['reads no more than 64 KiB']],
      [
        'an id that is no text',
        'provider_user_id: user.id',
        'provider_user_id: [user.id]',
        ['returns the identity, the same each time'],
      ],
      [
        'the secret in a message',
        "new Error('code refused')",
        'new Error(provider.clientSecret)',
        ['says invalid_grant when the provider refuses the code'],
      ],
    ])('finds %s', async (_name, from, to, expected) => {
      const found = await failures((source) => {
        expect(source).toContain(from);
        return source.replace(from, to);
      });
      expect(found).toEqual(expected);
    });
  });
});
