import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { KeyStore } from '../../src/token/keys/key.store.js';
import { startTestService, type TestService } from '../support/service.js';
import { signIn, type Tokens } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/waiting.js';

const KEY = 'a-service-key-of-thirty-two-characters';

/** Place of the verifiers: this repository, or a released version (`npm run test:all -- upgrades`). */
export const ROOT = process.env['RELEASED'] ?? fileURLToPath(new URL('../../', import.meta.url));

/** An API: `GET /me` answers with the claims, `GET /admin` needs the role `admin`; errors have the verifier's status and body. */
export interface Api {
  readonly url: string;
  close(): void | Promise<void>;
}

export interface ApiOptions {
  readonly issuer: string;
  readonly url: string;
  readonly serviceKey: string;
  readonly whenAway: 'introspect' | 'accept' | 'refuse';
}

/**
 * Starts an API as a program, which reads `ISSUER`, `SERVICE_URL`, `SERVICE_KEY`, `WHEN_AWAY`, and prints its port on 127.0.0.1 in a line.
 * @param cwd the directory that it runs in
 */
export async function startProgram(
  [program, ...args]: readonly [string, ...string[]],
  cwd: string,
  { issuer, url, serviceKey, whenAway }: ApiOptions,
): Promise<Api> {
  const env = { ISSUER: issuer, SERVICE_URL: url, SERVICE_KEY: serviceKey, WHEN_AWAY: whenAway };
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: [...stdio] });
  const lines = createInterface(child.stdout);
  const [port] = (await Promise.race([once(lines, 'line'), once(child, 'exit')])) as unknown[];
  if (!/^\d+$/.test(String(port)) || child.exitCode !== null) throw new Error(`${program} did not start`);
  return { url: `http://127.0.0.1:${String(port)}`, close: () => void child.kill() };
}

/**
 * A verifier against the real service: what the vectors cannot show. Prints a row of figures.
 * @param start starts an API with the verifier
 */
export function againstTheService(language: string, start: (options: ApiOptions) => Promise<Api>): void {
  let provider: StubProvider;
  let service: TestService;
  let proxy: TcpProxy;
  const apis: Api[] = [];
  const row: Record<string, number> = {};

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService({ ...provider.env(), SERVICE_KEYS: KEY });
    proxy = await TcpProxy.before(service.url);
  });
  afterAll(async () => {
    console.info(`${language}: ${JSON.stringify(row)}`);
    for (const api of apis) await api.close();
    await proxy?.refuse();
    await service?.close();
    await provider?.close();
  });

  const open = async (whenAway: ApiOptions['whenAway'], url = service.url): Promise<string> => {
    const api = await start({ issuer: service.url, url, serviceKey: KEY, whenAway });
    apis.push(api);
    return api.url;
  };
  const get = (url: string, { access_token }: Tokens, path = '/me') =>
    fetch(url + path, { headers: { authorization: `Bearer ${access_token}` } });
  const statusOf = async (...call: Parameters<typeof get>): Promise<number> => {
    const answer = await get(...call);
    await answer.arrayBuffer();
    return answer.status;
  };
  /** Milliseconds until the API answers so. */
  const measure = async (name: string, status: number, ...call: Parameters<typeof get>): Promise<number> => {
    const began = performance.now();
    await until(async () => (await statusOf(...call)) === status);
    return (row[name] = Math.round(performance.now() - began));
  };
  /** An API that answers 503 without its feed: a valid token is accepted once all earlier sign-outs are known. */
  const strict = async (): Promise<[string, Tokens]> => {
    const [url, tokens] = await Promise.all([open('refuse'), signIn(service.url)]);
    await until(async () => (await statusOf(url, tokens)) === 200);
    return [url, tokens];
  };

  it('refuses a token soon after the sign-out', async () => {
    const [url, tokens] = await strict();
    await signedOut(tokens);
    expect(await measure('signed out', 401, url, tokens)).toBeLessThan(5000);
    const later = await open('refuse');
    await until(async () => (await statusOf(later, tokens)) === 401); // it read the past
    const refusal = await get(url, tokens);
    expect(refusal.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    expect(await refusal.json()).toMatchObject({ error: 'invalid_token' });
  });

  it('has the claims of a user soon after a change, although the token has others', async () => {
    const [url, first] = await strict();
    await setRoles(first, ['admin']);
    const tokens = { ...first, ...(await refreshed(first)) };
    await until(async () => (await statusOf(url, tokens, '/admin')) === 200);
    await setRoles(tokens, []);
    expect(await measure('role taken away', 403, url, tokens, '/admin')).toBeLessThan(5000);
    await setRoles(tokens, ['admin']);
    await until(async () => (await statusOf(url, tokens, '/admin')) === 200);
  });

  it('notices that the feed is silent, and comes back', async () => {
    const away = `http://127.0.0.1:${proxy.port}`;
    const tokens = await signIn(service.url);
    const [refuse, accept, introspect] = await Promise.all([
      open('refuse', away),
      open('accept', away),
      open('introspect', away),
    ]);
    for (const url of [refuse, accept, introspect])
      await until(async () => (await statusOf(url, tokens)) === 200);
    proxy.blackhole();
    expect(await measure('feed silent', 503, refuse, tokens)).toBeGreaterThan(1000);
    expect(await statusOf(accept, tokens)).toBe(200);
    await until(async () => (await statusOf(introspect, tokens)) === 503);
    await signedOut(tokens);
    await proxy.restore();
    await measure('back', 401, refuse, tokens);
    for (const url of [accept, introspect]) await until(async () => (await statusOf(url, tokens)) === 401);
  });

  it('refuses the tokens of a key that is withdrawn', async () => {
    const [url, tokens] = await strict();
    const [head] = tokens.access_token.split('.') as [string];
    const { kid } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { kid: string };
    await service.app.get(KeyStore).revoke(kid);
    expect(await measure('key withdrawn', 401, url, tokens)).toBeLessThan(5000);
    await until(async () => (await statusOf(url, await signIn(service.url))) === 200); // of the next key
  });

  const call = async (method: string, path: string, body: object): Promise<object> => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const answer = await fetch(service.url + path, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}`);
    return (await answer.json()) as object;
  };
  const signedOut = ({ user_id }: Tokens) => call('POST', `/users/${user_id}/sign-out`, {});
  const setRoles = ({ user_id }: Tokens, roles: string[]) =>
    call('PUT', `/users/${user_id}/claims`, { claims: { roles } });
  const refreshed = ({ refresh_token }: Tokens) => call('POST', '/oauth2/refresh', { refresh_token });
}
