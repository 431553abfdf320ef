import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import request from 'supertest';
import { createDatabase, query } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { authorization } from '../support/sign-in.js';
import { startServiceProcess } from '../support/service-process.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { use } from '../support/use.js';

const TEMPLATE = fileURLToPath(new URL('../../examples/provider-adapter/adapter.js', import.meta.url));
const SECRET = 'a client secret of the stub';

/** Adapters of integrators in a running service (docs/provider-adapter.md#write-an-adapter). */
describe('a custom adapter', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'latchkey-adapter-'));
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  function file(name: string, source: string): string {
    writeFileSync(join(directory, name), source);
    return join(directory, name);
  }

  const provider = (name: string, adapter: string, url = 'http://127.0.0.1:1'): Record<string, string> => ({
    [`providers.${name}.adapter`]: adapter,
    [`providers.${name}.url`]: url,
    [`providers.${name}.client_id`]: 'app',
    [`providers.${name}.client_secret`]: SECRET,
    [`providers.${name}.department`]: 'engineering',
  });
  const stub = use(() => StubProvider.start());
  const service = use(() => {
    const echo = file(
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
    return startTestService({
      PROVIDERS_MOCK_ENABLED: 'false',
      ...provider('corp', TEMPLATE, stub.url),
      ...provider('echo', echo),
    });
  });

  const begin = (name: string) => authorization(service.url, { provider: name });

  async function signIn(name: string, code = 'c', more: object = {}): Promise<request.Response> {
    const { state } = await begin(name);
    return request(service.url)
      .post('/oauth2/token')
      .send({ code, state, ...more });
  }

  it('signs in: the template', async () => {
    stub.answerWith(200, { id: 'u-1', name: 'Ada', mail: 'ada@corp.example', photo: 'ftp://no' });
    const { redirect_url, state } = await begin('corp');
    expect(redirect_url).toBe(
      `${stub.url}/login?app=app&return_to=${encodeURIComponent(`${service.url}/callback`)}&state=${state}`,
    );
    await request(service.url).post('/oauth2/token').send({ code: 'a code', state }).expect(200);
    expect(stub.requests.map(({ path, body }) => [path, JSON.parse(body)])).toEqual([
      ['/api/login-codes', { app: 'app', secret: SECRET, code: 'a code' }],
    ]);
    const sql = `SELECT provider_user_id, username, email, avatar_url FROM users WHERE provider = 'corp'`;
    expect(await query(service.databaseUrl, sql)).toEqual([
      { provider_user_id: 'u-1', username: 'Ada', email: 'ada@corp.example', avatar_url: null },
    ]);
  });

  it('receives its settings, and its memory with the code', async () => {
    expect((await signIn('echo', 'c', { iss: 'https://corp.example' })).status).toBe(200);
    const sql = `SELECT provider_user_id AS id FROM users WHERE provider = 'echo'`;
    expect(await query(service.databaseUrl, sql)).toEqual([
      { id: `true,c,${service.url}/callback,https://corp.example,engineering` },
    ]);
    expect((await signIn('echo', 'refused')).body).toMatchObject({ error: 'invalid_client' });
  });

  it('prevents the start if its file cannot be loaded: no database is asked, no file written', async () => {
    let connections = 0;
    const database = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => database.listen(0, '127.0.0.1', resolve));
    const DATABASE_URL = `postgres://u:p@127.0.0.1:${(database.address() as AddressInfo).port}/x`;
    const DATA_DIR = mkdtempSync(join(directory, 'data-'));
    try {
      const started = startServiceProcess({
        ...provider('corp', './no-such-adapter.js'),
        DATABASE_URL,
        DATA_DIR,
      });
      const { message } = (await started.catch((error: unknown) => error)) as Error;
      expect(message).not.toMatch(/^\s*at |"stack"|Retrying|PostgreSQL/m);
      const text = message.split('\n').filter((line) => line !== '' && !line.startsWith('{')); // without the log
      expect(text).toEqual([
        'the service ended with code 1:',
        'invalid settings, nothing was started:',
        expect.stringMatching(
          /^ {2}providers\.corp\.adapter cannot be loaded .* Use contract, .* Value: ".*no-such-adapter\.js"/,
        ),
      ]);
      expect([connections, readdirSync(DATA_DIR)]).toEqual([0, []]);
    } finally {
      database.close();
    }
  });

  it('is checked at the start: one warning line, like the other warnings about settings', async () => {
    const away = file(
      'away.mjs',
      `export default { authorizationUrl() {}, exchange() {}, check() { throw new Error('away'); } };`,
    );
    const database = await createDatabase();
    try {
      const started = await startServiceProcess({
        ...provider('corp', away),
        DATABASE_URL: database.url,
        CORS_ORIGIN: 'https://app.example',
        REDIRECT_URIS: 'https://*.app.example/cb',
        PROVIDERS_HALF_ADAPTER: './half.js',
        PROVIDERS_HALF_URL: 'https://half.example',
        PROVIDERS_GONE_ADAPTER: 'oidc', // built in: checked after the start
        PROVIDERS_GONE_URL: 'http://127.0.0.1:1',
        PROVIDERS_GONE_CLIENT_ID: 'app',
        PROVIDERS_GONE_CLIENT_SECRET: SECRET,
      });
      await until(() => started.output().includes('Provider gone'));
      for (const line of [
        'Provider corp could not be checked',
        'CORS_ORIGIN is not a setting',
        'REDIRECT_URIS has an entry with',
        'Provider half has no client_id',
        'Provider gone cannot be used now: ',
      ]) {
        expect(started.output().split(line)).toHaveLength(2);
      }
      expect(await started.end('SIGTERM')).toBe(0);
    } finally {
      await database.close();
    }
  });
});
