import { randomBytes, randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import pg from 'pg';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { startTestService, type TestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';

const LIMIT = 20;
const SERVICE_KEY = 'k'.repeat(32);
const JSON_TYPE = 'application/json';

/** Calls of strangers, and of one user, that cost the service more than they cost the caller. Each has a control beside it. */
describe('calls that are costly', () => {
  let provider: StubProvider;
  let service: TestService;

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService({
      ...provider.env(),
      SERVICE_KEYS: SERVICE_KEY,
      RATE_LIMIT: 'on',
      TRUST_PROXY: 'true',
      RATE_LIMIT_REFRESH: String(LIMIT),
      RATE_LIMIT_BAD_TOKEN: String(LIMIT),
    });
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });

  /** Posts from an address of its own. */
  const post = async (
    path: string,
    body: string | Buffer,
    headers: Record<string, string>,
    from = address(),
  ) => {
    const sent = { method: 'POST', body: body as string, headers: { 'X-Forwarded-For': from, ...headers } };
    const response = await fetch(service.url + path, sent);
    return [response.status, ((await response.json()) as { error?: string }).error] as const;
  };
  const address = (): string => `10.${[...randomBytes(3)].join('.')}`;

  /** CPU of the service and this process for some requests, in milliseconds. */
  const cpuOf = async (count: number, call: () => Promise<unknown>): Promise<number> => {
    await call();
    const { user, system } = process.cpuUsage();
    for (let i = 0; i < count; i++) await call();
    const used = process.cpuUsage({ user, system });
    return (used.user + used.system) / 1000 / count;
  };

  it('a small compressed body is not unpacked', async () => {
    const lists = `[${'[],'.repeat(21_000)}[]]`;
    const bomb = gzipSync(lists);
    const headers = { 'Content-Type': JSON_TYPE, 'Content-Encoding': 'gzip' };
    for (const path of [
      '/oauth2/refresh',
      '/oauth2/token',
      '/oauth2/revoke',
      '/sign-out',
      '/oauth2/callback-error',
    ]) {
      const [status] = await post(path, bomb, headers);
      expect([path, status]).toEqual([path, path === '/sign-out' ? 401 : 415]);
    }
    expect((await post('/push', bomb, headers))[0]).toBe(401); // servers may compress: after their key was checked
    const small = await cpuOf(50, () =>
      post('/oauth2/refresh', '{"refresh_token":"x"}', { 'Content-Type': JSON_TYPE }),
    );
    const packed = await cpuOf(50, () => post('/oauth2/refresh', bomb, headers));
    process.stdout.write(
      `  attack: ${bomb.length} bytes of gzip: ${packed.toFixed(2)} ms of CPU, a refused refresh ${small.toFixed(2)} ms\n`,
    );
  });

  it.each<[string, string, Record<string, string>, number]>([
    ['lists', `[${'[],'.repeat(6000)}[]]`, { 'Content-Type': JSON_TYPE }, 400],
    ['broken JSON', '{"a', { 'Content-Type': JSON_TYPE }, 400],
    ['another media type', 'a=b', { 'Content-Type': 'text/plain' }, 400],
    ['a body that is too large', 'x'.repeat(30_000), { 'Content-Type': JSON_TYPE }, 413],
    [
      'a compressed one',
      gzipSync('{}').toString('latin1'),
      { 'Content-Type': JSON_TYPE, 'Content-Encoding': 'gzip' },
      415,
    ],
  ])('unreadable bodies count for the address: %s', async (_what, body, headers, status) => {
    const from = address();
    for (let i = 0; i < LIMIT; i++)
      expect((await post('/oauth2/refresh', body, headers, from))[0]).toBe(status);
    expect(await post('/oauth2/refresh', body, headers, from)).toEqual([429, 'slow_down']);
    const good = await post('/oauth2/refresh', '{"refresh_token":"x"}', { 'Content-Type': JSON_TYPE });
    expect(good[0]).toBe(401); // another address
  });

  it('a body is not parsed before the credential was checked', async () => {
    for (const path of ['/push', '/sign-out', `/users/${randomUUID()}/sign-out`])
      expect([path, (await post(path, '{"a', { 'Content-Type': JSON_TYPE }))[0]]).toEqual([path, 401]);
  });

  describe('of one user, whose row is locked', () => {
    let tokens: Tokens;
    let other: Tokens;
    let lock: pg.Client;
    beforeEach(async () => {
      const name = randomUUID();
      tokens = await signIn(service.url, name, { device_id: randomUUID() });
      other = await signIn(service.url, name, { device_id: randomUUID() });
      lock = new pg.Client(service.databaseUrl);
      await lock.connect();
      await lock.query('BEGIN');
      await lock.query('SELECT FROM users WHERE user_id = $1 FOR UPDATE', [tokens.user_id]);
    });
    afterEach(() => lock.end());

    const signOuts = (count: number): Promise<number[]> => {
      const call = async (): Promise<number> =>
        (await bearer(service.url, tokens.access_token).post('/sign-out').send({ scope: 'others' })).status;
      return Promise.all(Array.from({ length: count }, call));
    };

    it('a sign-out of many leaves the connections to other users', async () => {
      const stranger = await signIn(service.url, randomUUID());
      const ended = signOuts(60);
      for (let i = 0; i < 20; i++) await bearer(service.url, stranger.access_token).get('/me').expect(200);
      await lock.query('ROLLBACK');
      expect(new Set(await ended)).toEqual(new Set([204])); // they share at most two results
      await bearer(service.url, other.access_token).get('/me').expect(401);
      await bearer(service.url, tokens.access_token).get('/me').expect(200);
    });

    it('a sign-out with nothing to end takes no lock', async () => {
      await lock.query('ROLLBACK');
      await signOuts(1);
      await lock.query('BEGIN');
      await lock.query('SELECT FROM users WHERE user_id = $1 FOR UPDATE', [tokens.user_id]);
      expect(await signOuts(30)).toEqual(Array(30).fill(204));
      await lock.query('ROLLBACK');
    });
  });

  it('made-up tokens at /oauth2/revoke share statements, also beyond the limit', async () => {
    const before = await batches();
    const { refresh_token: own } = await signIn(service.url, randomUUID());
    const from = address();
    const revoke = (token: string) =>
      post('/oauth2/revoke', JSON.stringify({ token }), { 'Content-Type': JSON_TYPE }, from);
    const body = Buffer.from(own.slice(4), 'base64url');
    const makeUp = (): string => {
      const made = Buffer.concat([randomBytes(16), body.subarray(16)]);
      return `lkr_${made.toString('base64url')}`;
    };
    const lock = new pg.Client(service.databaseUrl);
    await lock.connect();
    await lock.query('BEGIN; LOCK TABLE refresh_tokens'); // the first two lookups wait, and the others meet
    let arrived = 0;
    service.app.getHttpServer().on('request', () => arrived++);
    const all = Promise.all(Array.from({ length: 300 }, () => revoke(makeUp())));
    await until(() => arrived >= 300);
    await lock.end();
    const answers = await all;
    const refused = answers.filter(([status]) => status === 429).length;
    expect([refused, answers.length - refused]).toEqual([300 - LIMIT, LIMIT]);
    const after = await batches();
    const [calls, statements] = [after.calls - before.calls, after.statements - before.statements];
    process.stdout.write(`  attack: ${calls} made-up tokens: ${statements} statements\n`);
    expect(calls).toBeGreaterThanOrEqual(300);
    expect(statements).toBeLessThan(calls / 2);
    expect(await revoke(own)).toEqual([200, undefined]); // a valid token is never refused
  });

  /** Calls of the lookup of refresh tokens, and the statements that they shared. */
  async function batches(): Promise<{ calls: number; statements: number }> {
    const { text } = await bearer(service.url, SERVICE_KEY).get('/metrics').expect(200);
    const value = (name: string): number =>
      Number(
        new RegExp(`^latchkey_database_batch_size_${name}\\{statement="living-sessions"\\} (\\d+)`, 'm').exec(
          text,
        )?.[1] ?? 0,
      );
    return { calls: value('sum'), statements: value('count') };
  }
});
