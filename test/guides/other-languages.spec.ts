import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { KeyRing, encodePart, signJwt } from '../../src/token/keys/key-ring.js';
import { Endings } from '../support/endings.js';
import { freePort } from '../support/free-port.js';
import { isInstalled, needs } from '../support/installed.js';
import { startTestService, type TestService } from '../support/service.js';
import { claimsOf, signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { sectionsOf, stepsOf } from './page.js';

const PAGE = 'docs/guides/other-languages.md';

interface Language {
  readonly program: string;
  /** Its files on the page. */
  readonly files: RegExp;
  readonly build: readonly string[];
  readonly start: string;
  readonly changes?: Readonly<Record<string, string>>;
}

const JAVA = {
  program: 'mvn',
  files: /pom\.xml|^src\//,
  build: ['mvn -q package'],
  start: 'java -jar target/api-1.jar',
};
/** The statements of the page for Spring Security before 6.5, and the replaced ones. */
const OLDER = /```java\n(var decoder = [^]*?)```/.exec(sectionsOf(PAGE).get('Java (Spring Boot)')!.text)![1]!;
const NEWER = /      (var decoder = [^]*?\.build\(\)\);\n)/;

const LANGUAGES: Readonly<Record<string, Language>> = {
  Go: {
    program: 'go',
    files: /^main\.go$/,
    build: [
      'go mod init api',
      'go get github.com/coreos/go-oidc/v3@v3.21.0',
      'go mod tidy',
      'go build -o api .',
    ],
    start: './api',
  },
  'Spring Security 7': JAVA,
  'Spring Security 6.5': { ...JAVA, changes: { '<version>4.0.7<': '<version>3.5.7<' } },
  'Spring Security 6.4': { ...JAVA, changes: { '<version>4.0.7<': '<version>3.4.5<', OLDER } },
  Python: {
    program: 'python3',
    files: /^api\.py$/,
    build: ['python3 -m venv .venv', ".venv/bin/pip install -q 'pyjwt[crypto]' fastapi uvicorn"],
    start: '.venv/bin/uvicorn api:app --port $PORT',
  },
};

/** Compilers and downloads. */
const TIMEOUT_MS = 900_000;

describe('APIs in other languages', () => {
  const endings = new Endings();
  let service: TestService;
  beforeAll(async () => {
    const provider = endings.after(await StubProvider.start(), (one) => one.close());
    provider.claims.set('ada', { roles: ['reader'] });
    provider.claims.set('root', { roles: ['admin'] });
    service = endings.after(await startTestService(provider.env()), (one) => one.close());
  });
  afterAll(() => endings.run());

  describe.each(Object.entries(LANGUAGES))('%s', (_name, { program, files, build, start, changes = {} }) => {
    needs({ [program]: isInstalled(program) }).it(
      'accepts access tokens, and nothing else',
      async () => {
        const folder = mkdtempSync('/var/tmp/latchkey-language-');
        endings.after(folder, (one) => rmSync(one, { recursive: true, force: true }));
        for (const step of stepsOf(PAGE)) {
          if (step.does !== 'write' || !files.test(step.file)) continue;
          const file = join(folder, step.file);
          mkdirSync(dirname(file), { recursive: true });
          const changed = Object.entries(changes).reduce(
            (text, [from, to]) => (from === 'OLDER' ? text.replace(NEWER, () => to) : text.replace(from, to)),
            step.text,
          );
          writeFileSync(file, changed);
        }
        for (const command of build) execFileSync('sh', ['-c', command], { cwd: folder, stdio: 'pipe' });
        const port = String(await freePort());
        const env = { ...process.env, LATCHKEY_URL: service.url, PORT: port };
        const api = spawn('sh', ['-c', `exec ${start}`], { cwd: folder, env, stdio: 'ignore' });
        endings.after(api, (one) => one.kill());
        const ask = async (token?: string, path = 'me'): Promise<[number, unknown]> => {
          const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
          const answer = await fetch(`http://localhost:${port}/api/${path}`, { headers });
          const text = await answer.text();
          return [answer.status, answer.status === 200 && path === 'me' ? JSON.parse(text) : undefined];
        };
        await until(() =>
          ask().then(
            () => true,
            () => false,
          ),
        );

        const { access_token: token } = await signIn(service.url, 'ada');
        const { access_token: admin } = await signIn(service.url, 'root');
        const own = claimsOf(token);
        expect(await ask(token)).toEqual([
          200,
          expect.objectContaining({ sub: own['sub'], sid: own['sid'] }),
        ]);
        expect([(await ask(token, 'admin'))[0], (await ask(admin, 'admin'))[0]]).toEqual([403, 200]);

        const { header, privateKey } = service.app.get(KeyRing).signer!;
        const decoded = JSON.parse(Buffer.from(header, 'base64url').toString()) as object;
        const signed = (change: object, head: object = {}): string =>
          signJwt(encodePart({ ...decoded, ...head }), { ...own, ...change }, privateKey);
        expect((await ask(signed({})))[0]).toBe(200); // that the following are refused is not for their form
        const refused: Record<string, string | undefined> = {
          'no token': undefined,
          'no JWT': 'nonsense',
          'another signature': `${token.slice(0, -6)}AAAAAA`,
          'another audience': signed({ aud: 'https://x.example' }),
          'another issuer': signed({ iss: 'https://x.example' }),
          'an expired token': signed({ iat: Number(own['iat']) - 7200, exp: Number(own['iat']) - 3600 }),
          'a token of another kind': signed({}, { typ: 'JWT' }),
          'a logout token': signed({}, { typ: 'logout+jwt' }),
        };
        const statuses: Record<string, number> = {};
        for (const [name, one] of Object.entries(refused)) statuses[name] = (await ask(one))[0];
        expect(Object.entries(statuses).filter(([, status]) => status !== 401)).toEqual([]);
      },
      TIMEOUT_MS,
    );
  });
});
