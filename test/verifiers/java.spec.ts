import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeService, SERVICE_KEY } from '../../packages/server/test/support/fake-service.js';
import { needs } from '../support/installed.js';
import { underMadeUpTokens } from './made-up-tokens.js';
import { againstTheService, startProgram, type Api, type ApiOptions, ROOT } from './real-service.js';

const DIRECTORY = join(ROOT, 'verifiers/java');
const APPLICATIONS = join(DIRECTORY, 'test-apps');
const OLDEST = 17;
const [, major] =
  /javac (\d+)/.exec(spawnSync('javac', ['-version'], { encoding: 'utf8' }).stdout ?? '') ?? [];
const hasMaven = !spawnSync('mvn', ['-version'], { stdio: 'ignore' }).error;
const hasJava = process.env['CI'] !== undefined || (Number(major) >= OLDEST && hasMaven);
const { describe: describeJava } = needs({ [`a JDK ${OLDEST} and Maven`]: hasJava });

function maven(cwd: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('mvn', ['-B', ...args], { cwd, encoding: 'utf8' });
  expect([status, status === 0 ? '' : (stdout + stderr).slice(-4000)]).toEqual([0, '']);
  return stdout;
}

/** verifiers/java. */
describeJava('the verifier in Java', () => {
  it('does what the vectors say; a released one is only installed', () => {
    if (process.env['RELEASED'] !== undefined) {
      maven(DIRECTORY, 'install', '-DskipTests');
    } else {
      expect(maven(DIRECTORY, 'install')).toMatch(/Tests run: [12]\d\d, Failures: 0, Errors: 0, Skipped: 0/);
    }
  });

  // Spring Security 6 and 7.
  describe.each(['3.5.7', '4.0.7'])('with Spring Boot %s', (boot) => {
    const start = starter('api.BootApi', boot);
    againstTheService(`Spring Boot ${boot}`, start);
    underMadeUpTokens(`Spring Boot ${boot}`, start);

    it('answers in the format of the service, without a session, also from another thread', async () => {
      const service = await FakeService.start();
      const options = { issuer: service.url, url: service.url, serviceKey: SERVICE_KEY };
      const api = await start({ ...options, whenAway: 'introspect' });
      const answerOf = async (path: string, authorization?: string): Promise<unknown[]> => {
        const answer = await fetch(api.url + path, { headers: authorization ? { authorization } : {} });
        const [challenge, cookie] = ['www-authenticate', 'set-cookie'].map((name) =>
          answer.headers.get(name),
        );
        return [answer.status, challenge, await answer.text(), cookie];
      };
      const refusal = (status: number, challenge: string, code: string): unknown[] => {
        return [status, challenge, expect.stringContaining(`"error":"${code}"`), null];
      };
      try {
        const token = `Bearer ${await service.token({ sub: 'ada' })}`;
        expect(await answerOf('/public/open')).toEqual([200, null, 'open', null]);
        for (const authorization of [undefined, 'Basic YTpi'])
          expect(await answerOf('/me', authorization)).toEqual(refusal(401, 'Bearer', 'invalid_token'));
        expect(await answerOf('/later', token)).toEqual([200, null, 'ada', null]);
        const forbidden = refusal(403, 'Bearer error="insufficient_scope"', 'insufficient_scope');
        expect(await answerOf('/admin', token)).toEqual(forbidden);
        for (const path of ['/me', '/public/open', '/nowhere'])
          expect(await answerOf(path, `${token}x`)).toEqual(
            refusal(401, 'Bearer error="invalid_token"', 'invalid_token'),
          );
      } finally {
        await api.close();
        await service.close();
      }
    });

    needs({ 'the verifiers of this version': process.env['RELEASED'] === undefined }).it(
      'serves programs of third parties, with the configuration of README.md',
      async () => {
        const [, documented] = /(@Bean\nSecurityFilterChain programs[\s\S]*?\n\})/.exec(textOf('README.md'))!;
        expect(unindented(textOf('test-apps/src/main/java/programs/ProgramsApi.java'))).toContain(
          unindented(documented!),
        );
        const service = await FakeService.start();
        const options = { issuer: service.url, url: service.url, serviceKey: SERVICE_KEY };
        const api = await starter('programs.ProgramsApi', boot)({ ...options, whenAway: 'accept' });
        const [resource, wellKnown] = [
          'https://api.example.com/mcp',
          '/.well-known/oauth-protected-resource',
        ];
        const call = async (method: string, path: string, claims?: object): Promise<unknown[]> => {
          const headers = claims && { authorization: `Bearer ${await service.token({ ...claims })}` };
          const answer = await fetch(api.url + path, { method, headers: headers ?? {} });
          await answer.arrayBuffer();
          return [answer.status, answer.headers.get('www-authenticate')];
        };
        try {
          for (const path of [`${wellKnown}/mcp`, wellKnown]) {
            const answer = await fetch(api.url + path);
            expect(answer.headers.get('access-control-allow-origin')).toBe('*');
            expect(await answer.json()).toEqual({
              resource,
              authorization_servers: [service.url],
              scopes_supported: ['orders:read'],
              bearer_methods_supported: ['header'],
            });
          }
          const metadata = `resource_metadata="https://api.example.com${wellKnown}/mcp"`;
          const [bare, invalid] = ['', 'error="invalid_token", '].map(
            (error) => `Bearer ${error}${metadata}, scope="orders:read"`,
          );
          expect(await call('GET', '/mcp/orders')).toEqual([401, bare]);
          expect(await call('GET', '/mcp/orders', { aud: 'https://other.example' })).toEqual([401, invalid]);
          const program = { aud: resource, scope: 'orders:read' };
          expect(await call('GET', '/mcp/orders', program)).toEqual([200, null]);
          expect(await call('POST', '/mcp/orders', program)).toEqual([
            403,
            `Bearer error="insufficient_scope", ${metadata}, scope="orders:read orders:write"`,
          ]);
          expect(await call('POST', '/mcp/orders', {})).toEqual([200, null]); // a token of the application
          expect(await call('GET', '/other', program)).toEqual([403, 'Bearer error="insufficient_scope"']);
        } finally {
          await api.close();
          await service.close();
        }
      },
    );

    it('answers errors of open paths as they are, with the configuration of README.md', async () => {
      const [, documented] = /(@Bean\nSecurityFilterChain [\s\S]*?\n\})/.exec(textOf('README.md'))!;
      expect(unindented(textOf('test-apps/src/main/java/api/BootApi.java'))).toContain(
        unindented(documented!),
      );

      const service = await FakeService.start();
      const options = { issuer: service.url, url: service.url, serviceKey: SERVICE_KEY };
      const api = await start({ ...options, whenAway: 'accept' });
      try {
        const authorization = `Bearer ${await service.token()}`;
        const statusOf = async (path: string, headers = {}): Promise<number> =>
          (await fetch(api.url + path, { headers })).status;
        const errors = { '/conflict': 409, '/number?n=x': 400, '/missing': 404, '/failing-later': 500 };
        for (const [path, status] of Object.entries(errors)) {
          expect([path, await statusOf(`/public${path}`)]).toEqual([path, status]);
          expect([path, await statusOf(`/public${path}`, { authorization })]).toEqual([path, status]);
          expect([path, await statusOf(path, { authorization })]).toEqual([path, status]);
          expect([path, await statusOf(path)]).toEqual([path, 401]);
        }
      } finally {
        await api.close();
        await service.close();
      }
    });
  });

  describe('without a framework', () => {
    const start = starter('api.PlainApi', '3.5.7');
    againstTheService('Java', start);
    underMadeUpTokens('Java', start);
  });
});

const textOf = (path: string): string => readFileSync(join(DIRECTORY, path), 'utf8');
const unindented = (code: string): string => code.replaceAll(/^ +/gm, '');

/** Compiles the applications once for a version of Spring Boot. */
function starter(main: string, boot: string): (options: ApiOptions) => Promise<Api> {
  const target = join(APPLICATIONS, 'target', boot);
  let classPath: string | undefined;
  return (options) => {
    if (classPath === undefined) {
      maven(APPLICATIONS, '-q', `-Dboot.version=${boot}`, 'compile', 'dependency:build-classpath');
      classPath = `${join(target, 'classes')}:${readFileSync(join(target, 'classpath'), 'utf8')}`;
    }
    return startProgram(['java', '-cp', classPath, main], APPLICATIONS, options);
  };
}
