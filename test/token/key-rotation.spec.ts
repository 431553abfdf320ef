import { setTimeout as delay } from 'node:timers/promises';
import request from 'supertest';
import { KeyService } from '../../src/token/keys/key.service.js';
import { KeyStore, KeyReader } from '../../src/token/keys/key.store.js';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { createDatabase, unhurried, query } from '../support/database.js';
import { startTestService, type TestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/waiting.js';

const NINETY_DAYS = 90 * 86_400;

function kidOf(token: string): string {
  const header = JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as { kid: string };
  return header.kid;
}

/** Rotation as every instance sees it (contract §5; security.md P7). Time is moved by changing rows. */
describe('key rotation', () => {
  let provider: StubProvider;
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let instances: TestService[];
  let store: KeyStore;
  let tokens: Tokens;

  beforeAll(async () => {
    provider = await StubProvider.start();
  });
  afterAll(() => provider.close());
  beforeEach(async () => {
    database = await createDatabase();
    const env = {
      ...provider.env(),
      DATABASE_URL: unhurried(database.url),
      PUBLIC_URL: 'http://localhost:9',
    };
    instances = await Promise.all([startTestService(env), startTestService(env)]);
    store = instances[0]!.app.get(KeyStore);
    tokens = await signIn(instances[0]!.url);
  });
  afterEach(async () => {
    await Promise.all(instances.map((instance) => instance.close()));
    await database.drop();
  });

  const list = () => instances[0]!.app.get(KeyReader).list();

  async function newToken({ url }: TestService): Promise<string> {
    const { refresh_token } = tokens;
    const { body } = await request(url).post('/oauth2/refresh').send({ refresh_token }).expect(200);
    return (body as Tokens).access_token;
  }

  /** The kids that instances sign with and publish, by asking them. */
  async function everywhere(condition: (signing: string, published: string[]) => boolean): Promise<void> {
    for (const instance of instances) {
      for (;;) {
        const { body } = await request(instance.url).get('/.well-known/jwks.json').expect(200);
        const published = (body as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
        if (condition(kidOf(await newToken(instance)), published)) break;
      }
    }
  }

  const statusOf = async ({ url }: TestService, token: string): Promise<number> =>
    (await bearer(url, token).get('/me')).status;

  /**
   * Gets tokens from all instances and shows each at once to all, until told to stop; tells which were refused, and how
   * long the slowest of these rounds took: the measure for how late anything may be noticed here.
   */
  function traffic() {
    const seen: { token: string; kid: string; refused: boolean }[] = [];
    let slowest = 0;
    const end = new AbortController();
    const work = instances.map(async (issuer) => {
      while (!end.signal.aborted) {
        const began = performance.now();
        const token = await newToken(issuer);
        const statuses = await Promise.all(instances.map((instance) => statusOf(instance, token)));
        slowest = Math.max(slowest, performance.now() - began);
        seen.push({ token, kid: kidOf(token), refused: statuses.some((status) => status !== 200) });
      }
    });
    const stop = async (): Promise<void> => {
      end.abort();
      await Promise.all(work);
    };
    return { seen, stop, slowest: () => slowest };
  }

  it.each([
    ['refuses connections', (proxy: TcpProxy) => proxy.refuse()],
    ['hangs', async (proxy: TcpProxy) => proxy.blackhole()],
  ])(
    'an instance whose database %s calls no token invalid whose key it could not read',
    async (_name, begin) => {
      const proxy = await TcpProxy.before(database.url);
      const behind = new URL(database.url);
      behind.port = String(proxy.port);
      const apart = await startTestService({
        ...provider.env(),
        PUBLIC_URL: 'http://localhost:9',
        DATABASE_URL: behind.href,
      });
      instances.unshift(apart); // closed first
      await begin(proxy);
      const old = kidOf(tokens.access_token);
      await store.revoke(old);
      let token = tokens.access_token;
      while (kidOf(token) === old) token = await newToken(instances[1]!);
      const away = { error: 'server_error', error_description: 'the database is unavailable' };
      expect((await bearer(apart.url, token).get('/me')).body).toEqual(away);
      await proxy.restore();
      const statuses = new Set<number>();
      while (!statuses.has(200)) statuses.add(await statusOf(apart, token));
      expect(statuses).not.toContain(401);
      await until(async () => (await statusOf(apart, tokens.access_token)) === 401);
      await apart.close();
      await proxy.refuse();
      instances.shift();
    },
  );

  it('refuses no valid token on any instance, from the publication of a key to the end of the old one', async () => {
    const old = kidOf(tokens.access_token);
    const { seen, stop } = traffic();
    const { kid, activeAt, made } = await store.rotate();
    expect(made).toBe(true);
    expect(activeAt.getTime() - Date.now()).toBeGreaterThan(590_000); // ten minutes ahead
    await everywhere((signing, published) => signing === old && published.includes(kid));
    while (seen.length === 0) await delay(20);

    await query(database.url, 'UPDATE signing_keys SET active_at = now() WHERE kid = $1', [kid]);
    await everywhere((signing, published) => signing === kid && published.includes(old));
    while (!seen.some((token) => token.kid === kid)) await delay(20);
    await stop();
    expect(new Set(seen.map((token) => token.kid))).toEqual(new Set([old, kid]));
    expect(seen.filter(({ refused }) => refused)).toEqual([]);
    for (const { token } of seen.slice(0, 20)) {
      for (const instance of instances) expect(await statusOf(instance, token)).toBe(200);
    }

    // Just before and just after the old key's last token has expired, and a minute of margin has passed.
    const firstUse = (age: number) =>
      query(
        database.url,
        `UPDATE signing_keys SET active_at = now() - $2 * interval '1 second' - CASE kid WHEN $1 THEN interval '0' ELSE interval '1 day' END`,
        [kid, age],
      );
    await firstUse(3600 + 60 - 10);
    expect((await list()).map(({ state }) => state)).toEqual(['signing', 'published']);
    await firstUse(3600 + 60);
    await everywhere((signing, published) => signing === kid && !published.includes(old));
    expect(await statusOf(instances[1]!, tokens.access_token)).toBe(401);
    expect((await list()).map(({ state }) => state)).toEqual(['signing', 'retired']);
  });

  it('makes no other key while one is waiting', async () => {
    const { kid } = await store.rotate();
    expect(await store.rotate()).toMatchObject({ kid, made: false });
    expect(await list()).toHaveLength(2);
  });

  it('each key signs from its exact time on, not from the next reading: else a withdrawn key would still sign', async () => {
    const { app } = instances[0]!;
    const signing = (): string => app.get(KeyService).signing.kid;
    const signs = (kid: string): Promise<void> => until(() => signing() === kid);
    const first = signing();
    const kids: string[] = [];
    for (let i = 0; i < 4; i++) {
      const { kid } = await store.rotate();
      kids.push(kid);
      await query(database.url, 'UPDATE signing_keys SET active_at = now() WHERE kid = $1', [kid]);
      await signs(kid); // so the instance has all of it
    }
    const seen = new Set<string>();
    let longestGap: number;
    do {
      // One after the other, 300 ms each: an instance that reads only twice a second would miss some.
      await query(
        database.url,
        `UPDATE signing_keys SET active_at = now() + interval '2 s' + place * interval '300 ms'
         FROM unnest($1::text[]) WITH ORDINALITY AS waiting (id, place) WHERE kid = id`,
        [kids],
      );
      await signs(first);
      seen.clear();
      seen.add(first);
      longestGap = 0;
      for (let looked = performance.now(); signing() !== kids.at(-1);) {
        seen.add(signing());
        await delay(10);
        const now = performance.now();
        longestGap = Math.max(longestGap, now - looked);
        looked = now;
      }
    } while (longestGap > 200); // a machine that stood still has not looked at some: then once more
    expect([...seen, signing()]).toEqual([first, ...kids]);
  });

  it('revoke withdraws the signing key within 1 s on every instance, and refuses no token of its successor', async () => {
    const revoked = kidOf(tokens.access_token);
    const { seen, stop, slowest } = traffic();
    const successor = await store.revoke(revoked);
    const committed = Date.now();
    const lastAccepted = instances.map(async (instance) => {
      for (let accepted = 0; ;) {
        const began = Date.now();
        if ((await statusOf(instance, tokens.access_token)) === 401) return accepted;
        accepted = began;
      }
    });
    const late = (await Promise.all(lastAccepted)).map((at) => at - committed);
    expect(Math.max(...late)).toBeLessThan(1000 + 3 * slowest());
    await everywhere((signing, published) => signing === successor!.kid && !published.includes(revoked));
    await stop();
    const ofSuccessor = seen.filter(({ kid }) => kid === successor!.kid);
    expect(ofSuccessor.length).toBeGreaterThan(0);
    expect(ofSuccessor.filter(({ refused }) => refused)).toEqual([]);
    expect((await list()).map(({ state }) => state)).toEqual(['signing', 'revoked']);
    // Each instance logs it; in one process all of Nest's logs are one.
    const audit = instances.flatMap(({ log }) =>
      log.filter((line) => line.includes(`"audit":"key_revoked","kid":"${revoked}"`)),
    );
    expect(audit).toHaveLength(2);
  });

  it('revoke of a key that waits, or is only published, leaves the signing one alone', async () => {
    const signing = kidOf(tokens.access_token);
    const waiting = await store.rotate();
    expect(await store.revoke(waiting.kid)).toBeUndefined();
    await everywhere((now, published) => now === signing && published.join() === signing);
    // A key that was revoked before its first use never took over.
    await query(database.url, 'UPDATE signing_keys SET active_at = now() WHERE kid = $1', [waiting.kid]);
    await query(database.url, `UPDATE signing_keys SET revoked_at = active_at WHERE kid = $1`, [waiting.kid]);
    expect((await list()).find(({ kid }) => kid === signing)).toMatchObject({
      state: 'signing',
      endsAt: null,
    });

    const next = await store.rotate();
    await query(database.url, 'UPDATE signing_keys SET active_at = now() WHERE kid = $1', [next.kid]);
    expect(await store.revoke(signing)).toBeUndefined();
    await everywhere((now, published) => now === next.kid && published.join() === next.kid);
    expect(await statusOf(instances[1]!, tokens.access_token)).toBe(401);
  });

  it('of four instances that see a key that is 90 days old, one makes the next', async () => {
    const env = { DATABASE_URL: database.url };
    const more = await Promise.all([startTestService(env), startTestService(env)]);
    instances.push(...more);
    const rotateAll = () => Promise.all(instances.map(({ app }) => app.get(KeyService).rotateIfDue()));
    const firstUse = (age: number) =>
      query(database.url, `UPDATE signing_keys SET active_at = now() - $1 * interval '1 second'`, [age]);
    await firstUse(NINETY_DAYS - 60);
    await rotateAll();
    expect(await list()).toHaveLength(1);
    await firstUse(NINETY_DAYS);
    await rotateAll();
    await rotateAll();
    expect((await list()).map(({ state }) => state)).toEqual(['next', 'signing']);
  });
});
