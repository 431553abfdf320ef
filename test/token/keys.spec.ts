import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import request from 'supertest';
import { secretKey } from '../../src/platform/config/secrets/secret-key.js';
import { Clock } from '../../src/platform/database/clock.js';
import { Sql } from '../../src/platform/database/sql.js';
import { KeyCipher } from '../../src/token/keys/key-cipher.js';
import { KeyRing } from '../../src/token/keys/key-ring.js';
import { KeyStore, listKeys } from '../../src/token/keys/key.store.js';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { createDatabase, dump, query, unhurried } from '../support/database.js';
import type { TestService } from '../support/service.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/waiting.js';
import { prepare, use, useInstances } from '../support/use.js';

function readKid(token: string): string {
  const header = JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as { kid: string };
  return header.kid;
}

async function publishedKids(url: string): Promise<string[]> {
  const { body } = await request(url).get('/.well-known/jwks.json').expect(200);
  return (body as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
}

/**
 * Two instances on one database (SECURITY.md#promises, P7). Tests move time by changing rows; their order
 * matters.
 */
describe('signing keys', () => {
  let tokens: Tokens;

  const database = use(() => createDatabase());
  const { here, there } = useInstances(() => ({ DATABASE_URL: unhurried(database.url) }));
  const instances = [here, there];
  const store = prepare(() => here.app.get(KeyStore));
  beforeEach(async () => {
    tokens = await signIn(instances[0]!.url);
  });

  const states = async () => (await listKeys(instances[0]!.app.get(Sql))).map(({ state }) => state);

  async function newToken({ url }: TestService): Promise<string> {
    const { refresh_token } = tokens;
    const { body } = await request(url).post('/oauth2/refresh').send({ refresh_token }).expect(200);
    return (body as Tokens).access_token;
  }

  /** Waits until the condition holds for the kids that each instance signs with and publishes. */
  async function everywhere(condition: (signing: string, published: string[]) => boolean): Promise<void> {
    for (const instance of instances) {
      await until(async () => {
        const published = await publishedKids(instance.url);
        return condition(readKid(await newToken(instance)), published);
      });
    }
  }

  const statusOf = async ({ url }: TestService, token: string): Promise<number> =>
    (await bearer(url, token).get('/me')).status;

  /**
   * Gets tokens from both instances and presents each at once to both, until `stop`. `slowest` is the
   * duration of the longest round: the measure for how late anything may be noticed on this machine.
   */
  function traffic() {
    const observed: { token: string; kid: string; rejected: boolean }[] = [];
    let slowest = 0;
    const end = new AbortController();
    const work = instances.map(async (issuer) => {
      while (!end.signal.aborted) {
        const began = performance.now();
        const token = await newToken(issuer);
        const statuses = await Promise.all(instances.map((instance) => statusOf(instance, token)));
        slowest = Math.max(slowest, performance.now() - began);
        observed.push({ token, kid: readKid(token), rejected: statuses.some((status) => status !== 200) });
        await delay(50);
      }
    });
    const stop = async (): Promise<void> => {
      end.abort();
      await Promise.all(work);
    };
    return { observed, stop, slowest: () => slowest };
  }

  it('cannot be read from a stolen database without SECRET_KEY, nor from the JWKS', async () => {
    const [service] = instances;
    const { kid, privateKey } = service!.app.get(KeyRing).signer!;
    const pkcs8 = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('hex');
    const { d } = privateKey.export({ format: 'jwk' });
    const stolen = await dump(database.url);
    expect(stolen).toContain(kid);
    expect(stolen).not.toMatch(/PRIVATE KEY|"d"/);
    for (const secret of [d!, Buffer.from(d!, 'base64url').toString('hex'), pkcs8])
      expect(stolen).not.toContain(secret);

    const [row] = await query<{ bytes: Buffer }>(
      database.url,
      'SELECT encrypted_private_key AS bytes FROM signing_keys',
    );
    const decrypt = (secret: string) =>
      new KeyCipher(secretKey.parse(secret)).decrypt({ kid, encryptedPrivateKey: row!.bytes });
    expect(decrypt('5e'.repeat(32)).equals(privateKey)).toBe(true);
    expect(() => decrypt('5f'.repeat(32))).toThrow();

    const { text } = await request(service!.url).get('/.well-known/jwks.json');
    expect(text).toContain(kid);
    expect(text).not.toContain('"d"');
    expect(service!.log.join('')).not.toContain(d);
  });

  it('rotate without a rejected token, from the publication of a key to the end of the old one', async () => {
    const old = readKid(tokens.access_token);
    const { observed, stop } = traffic();
    const { kid, activeAt } = await store.rotate();
    expect(activeAt.getTime() - Date.now()).toBeGreaterThan(590_000); // ten minutes ahead
    await everywhere((signing, published) => signing === old && published.includes(kid));
    await until(() => observed.length > 0);
    await query(database.url, 'UPDATE signing_keys SET active_at = now() WHERE kid = $1', [kid]);
    await everywhere((signing, published) => signing === kid && published.includes(old));
    await until(() => observed.some((token) => token.kid === kid));
    await stop();
    expect(new Set(observed.map((token) => token.kid))).toEqual(new Set([old, kid]));
    expect(observed.filter(({ rejected }) => rejected)).toEqual([]);

    // Just before and just after the old key's last token has expired, and a minute of margin has passed.
    const firstUse = (age: number) =>
      query(
        database.url,
        `UPDATE signing_keys SET active_at = now() - $2 * interval '1 second' - CASE WHEN kid = $1 THEN interval '0' ELSE interval '1 day' END`,
        [kid, age],
      );
    await firstUse(3600 + 60 - 10);
    expect(await states()).toEqual(['signing', 'published']);
    await firstUse(3600 + 60);
    await everywhere((signing, published) => signing === kid && !published.includes(old));
    expect(await statusOf(instances[1]!, tokens.access_token)).toBe(401);
    expect(await states()).toEqual(['signing', 'retired']);
  });

  it('are revoked within 1 s on every instance, and no token of the successor is rejected', async () => {
    const revoked = readKid(tokens.access_token);
    const { observed, stop, slowest } = traffic();
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
    await until(() => observed.some(({ kid }) => kid === successor!.kid));
    await stop();
    expect(observed.filter(({ kid, rejected }) => kid === successor!.kid && rejected)).toEqual([]);
    expect(await states()).toEqual(['signing', 'revoked', 'retired']);
    // Each instance logs it; in one process all of Nest's logs are one.
    const audit = instances.flatMap(({ log }) =>
      log.filter((line) => line.includes(`Signing key ${revoked} was revoked`)),
    );
    expect(audit).toHaveLength(2);
  });

  it('that an instance cannot read, because its database is unreachable, cause no invalid_token', async () => {
    const proxy = await TcpProxy.before(database.url);
    const delayed = await here.another({ DATABASE_URL: proxy.through(database.url) });
    try {
      await proxy.refuse();
      const old = readKid(tokens.access_token);
      await store.revoke(old);
      let token = tokens.access_token;
      await until(async () => readKid((token = await newToken(instances[1]!))) !== old);
      const away = { error: 'server_error', error_description: 'the database is unavailable' };
      expect((await bearer(delayed.url, token).get('/me')).body).toEqual(away);
      await proxy.restore();
      const statuses = new Set<number>();
      await until(async () => statuses.add(await statusOf(delayed, token)).has(200));
      expect(statuses).not.toContain(401);
      await until(async () => (await statusOf(delayed, tokens.access_token)) === 401);
    } finally {
      await delayed.close();
      await proxy.refuse();
    }
  });

  it('end by the database’s clock, whatever the clock of the instance', async () => {
    const { app, url } = instances[0]!;
    jest.spyOn(app.get(Clock), 'now').mockImplementation(() => Date.now() + 90_000);
    await bearer(url, await newToken(instances[0]!))
      .get('/me')
      .expect(200);
    // For this instance, the end was a moment ago.
    await query(database.url, `UPDATE signing_keys SET revoked_at = now() + interval '85 s'`);
    await until(async () => (await publishedKids(url)).length === 0);
    await bearer(url, tokens.access_token).get('/me').expect(401);
    jest.restoreAllMocks();
  });
});
