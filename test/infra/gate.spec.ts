import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { Endings } from '../support/endings.js';
import { freePort } from '../support/free-port.js';
import { isInstalled, needs } from '../support/installed.js';
import { startTestService, type TestService } from '../support/service.js';
import { bearer } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { ProxyProcess } from './proxy-process.js';

const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';
const SOURCES = ['index', 'express', 'session'].map((name) => [
  name === 'index' ? '@latchkey/server' : `@latchkey/server/${name}`,
  `./packages/server/src/${name}.ts`,
]);

needs({ nginx: isInstalled('nginx') }).describe('examples/gate', () => {
  const endings = new Endings();
  let service: TestService;
  let url: string;
  let who = 'ada';
  let reached: { readonly path: string; readonly headers: IncomingHttpHeaders }[] = [];

  beforeAll(async () => {
    const directory = mkdtempSync(join(tmpdir(), 'latchkey-gate-'));
    endings.after(directory, (one) => rmSync(one, { recursive: true, force: true }));
    const [port, gatePort] = [await freePort(), await freePort()];
    url = `http://localhost:${port}`;
    const provider = endings.after(await StubProvider.start(), (one) => one.close());
    provider.claims.set('ada', { email: 'ada@example.com', roles: ['reader'] });
    provider.claims.set('root', { roles: ['admin'] });
    provider.signInAtOnce(() => who);
    service = endings.after(
      await startTestService({
        ...provider.env(),
        PROVIDERS_MOCK_ENABLED: 'false',
        REDIRECT_URIS: `${url}/auth/callback`,
        SERVICE_KEYS: SERVICE_KEY,
      }),
      (one) => one.close(),
    );
    const dashboard = createServer(({ url: path, headers }, response) => {
      reached.push({ path: path!, headers });
      response.end('the dashboard');
    }).listen(0, '127.0.0.1');
    endings.after(dashboard, (one) => one.close());

    const gateFile = join(directory, 'gate.mjs');
    await build({
      entryPoints: ['examples/gate/gate.js'],
      outfile: gateFile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      alias: Object.fromEntries(SOURCES) as Record<string, string>,
    });
    const env = {
      LATCHKEY_URL: service.url,
      APP_URL: url,
      COOKIE_SECRET: 'c'.repeat(32),
      LATCHKEY_KEY: SERVICE_KEY,
      PORT: String(gatePort),
    };
    const gate = spawn(process.execPath, [gateFile], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    endings.after(gate, (one) => one.kill());
    await once(gate.stdout, 'data');

    const changes = {
      'events {}': `pid ${directory}/pid;\nerror_log stderr;\nevents {}`,
      'http {\n': `http {\naccess_log off;\n`,
      'listen 443 ssl;': `listen 127.0.0.1:${port};`,
      'ssl_certificate /etc/ssl/dashboard.example/fullchain.pem;': '',
      'ssl_certificate_key /etc/ssl/dashboard.example/privkey.pem;': '',
      '127.0.0.1:3001': `127.0.0.1:${gatePort}`,
      '127.0.0.1:8080': `127.0.0.1:${(dashboard.address() as AddressInfo).port}`,
    };
    const text = readFileSync('examples/gate/nginx.conf', 'utf8');
    const file = join(directory, 'nginx.conf');
    writeFileSync(
      file,
      Object.entries(changes).reduce((all, [from, to]) => all.replaceAll(from, to), text),
    );
    const args = ['-g', 'daemon off;', '-c', file];
    endings.after(await ProxyProcess.start('nginx', args, port, directory), (one) => one.stop());
  });
  afterAll(() => endings.run());
  beforeEach(() => void (reached = []));

  /** A browser: follows redirects, and keeps cookies of the dashboard's origin. */
  class Browser {
    private readonly cookies = new Map<string, string>();

    async open(
      path: string,
      headers: Record<string, string> = {},
      method = 'GET',
    ): Promise<{ status: number; address: string }> {
      let address = new URL(path, url);
      for (;;) {
        const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
        const own: Record<string, string> = address.origin === url && cookie !== '' ? { Cookie: cookie } : {};
        const sent = request(address, { method, headers: { ...own, ...headers } }).end(); // fetch adds its own Sec-Fetch-Mode
        const [answer] = (await once(sent, 'response')) as [IncomingMessage];
        answer.resume();
        for (const line of answer.headers['set-cookie'] ?? []) {
          const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
          if (value === '' || /max-age=0/i.test(line)) this.cookies.delete(name!);
          else this.cookies.set(name!, value!);
        }
        const { location } = answer.headers;
        if (location === undefined)
          return { status: answer.statusCode!, address: address.href.slice(url.length) };
        address = new URL(location, address);
      }
    }
  }

  async function signedIn(user: string): Promise<Browser> {
    who = user;
    const browser = new Browser();
    await browser.open('/');
    return browser;
  }

  it('leads to the sign-in and back to the page, and tells the dashboard who it is', async () => {
    who = 'ada';
    const browser = new Browser();
    const path = '/report?from=1&to=2%263&provider=x';
    expect(await browser.open(path, { 'X-Latchkey-Roles': 'admin', X_Latchkey_User: 'root' })).toEqual({
      status: 200,
      address: path,
    });
    expect(reached.map((one) => one.path)).toEqual([path]);
    const { headers } = reached[0]!;
    expect(headers).toMatchObject({ 'x-latchkey-email': 'ada@example.com', 'x-latchkey-roles': 'reader' });
    expect(headers['x-latchkey-user']).toMatch(/^[\da-f-]{36}$/);
    expect(Object.keys(headers).filter((name) => name.includes('_'))).toEqual([]);
    expect(headers.cookie ?? '').not.toContain('__Host-latchkey=');
  });

  it('refuses scripts without a session, forms of other sites, and what is no session', async () => {
    const script = { 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Site': 'same-origin' };
    expect((await new Browser().open('/api/data', script)).status).toBe(401);
    expect((await new Browser().open('/api/data', {}, 'POST')).status).toBe(401);
    const malformed = { Cookie: '__Host-latchkey=%00"; =;;', 'Sec-Fetch-Mode': 'cors' };
    expect((await new Browser().open('/', malformed)).status).toBe(401);
    expect(reached).toEqual([]);

    const browser = await signedIn('ada');
    reached = [];
    expect((await browser.open('/delete', { 'Sec-Fetch-Site': 'cross-site' }, 'POST')).status).toBe(401);
    expect(reached).toEqual([]);
    expect((await browser.open('/delete', { 'Sec-Fetch-Site': 'same-origin' }, 'POST')).status).toBe(200);
  });

  it('needs a role below /admin/', async () => {
    const [reader, admin] = [await signedIn('ada'), await signedIn('root')];
    expect([(await reader.open('/admin/x')).status, (await admin.open('/admin/x')).status]).toEqual([
      403, 200,
    ]);
  });

  it('a person who is signed out elsewhere is out within a second', async () => {
    const browser = await signedIn('eve');
    const userId = reached.at(-1)!.headers['x-latchkey-user'] as string;
    const ask = async (): Promise<number> =>
      (await browser.open('/api', { 'Sec-Fetch-Mode': 'cors' })).status;
    expect(await ask()).toBe(200);
    await bearer(service.url, SERVICE_KEY).post(`/users/${userId}/sign-out`).expect(200);
    const signedOut = performance.now();
    await until(async () => (await ask()) === 401);
    process.stdout.write(`gate: out after ${Math.round(performance.now() - signedOut)} ms\n`);
  });

  it('has no more than 80 lines of its own', () => {
    expect(readFileSync('examples/gate/gate.js', 'utf8').trim().split('\n').length).toBeLessThanOrEqual(80);
  });
});
