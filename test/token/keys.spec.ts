import { jest } from '@jest/globals';
import request from 'supertest';
import { secretKey } from '../../src/config/secrets/secret-key.js';
import { Clock } from '../../src/database/clock.js';
import { KeyCipher } from '../../src/token/keys/key-cipher.js';
import { KeyService } from '../../src/token/keys/key.service.js';
import { KeyStore, KeyReader } from '../../src/token/keys/key.store.js';
import { bearer, signIn } from '../support/sign-in.js';
import { createDatabase, unhurried, dump, query } from '../support/database.js';
import { startTestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';

type Jwks = { keys: { kid: string; d?: string }[] };

const ANOTHER_SECRET = { SECRET_KEY: 'a1'.repeat(32) };
const PRODUCTION = {
  NODE_ENV: 'production',
  HOST: '127.0.0.1',
  PUBLIC_URL: 'https://id.example',
  REDIRECT_URIS: 'https://app.example/cb',
  TRUST_PROXY: 'false',
};

async function kids(url: string): Promise<string[]> {
  const { body } = await request(url).get('/.well-known/jwks.json').expect(200);
  return (body as Jwks).keys.map(({ kid }) => kid);
}

describe('signing keys (contract §5)', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;

  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(() => database.drop());

  const start = (env: Record<string, string> = {}) =>
    startTestService({ DATABASE_URL: unhurried(database.url), ...env });

  it('instances that start together on an empty database make one key, which signs at once', async () => {
    const instances = await Promise.all(Array.from({ length: 4 }, () => start()));
    try {
      const all = await Promise.all(instances.map(({ url }) => kids(url)));
      expect(all[0]).toHaveLength(1);
      expect(new Set(all.flat()).size).toBe(1);
      for (const { app } of instances) expect(app.get(KeyService).signing.kid).toBe(all[0]![0]);
      const told = instances.flatMap(({ log }) => log.filter((line) => line.includes('"audit":"key_made"')));
      expect(told).toHaveLength(1);
    } finally {
      await Promise.all(instances.map((instance) => instance.close()));
    }
  });

  it('outlive the process', async () => {
    const first = await start();
    const [kid] = await kids(first.url);
    await first.close();
    const second = await start();
    try {
      expect(await kids(second.url)).toEqual([kid]);
    } finally {
      await second.close();
    }
  });

  it('cannot be had from a stolen database without SECRET_KEY, nor from the JWKS', async () => {
    const service = await start();
    try {
      const { kid, privateKey } = service.app.get(KeyService).signing;
      const pkcs8 = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('hex');
      const { d } = privateKey.export({ format: 'jwk' });
      const stolen = await dump(database.url);
      expect(stolen).toContain(kid);
      expect(stolen).not.toMatch(/PRIVATE KEY|"d"/);
      expect(stolen).not.toContain(d);
      expect(stolen).not.toContain(Buffer.from(d!, 'base64url').toString('hex'));
      expect(stolen).not.toContain(pkcs8);

      const [row] = await query<{ bytes: Buffer }>(
        database.url,
        'SELECT encrypted_private_key AS bytes FROM signing_keys',
      );
      const decrypt = (secret: string) =>
        new KeyCipher(secretKey.parse(secret)).decrypt({ kid, encryptedPrivateKey: row!.bytes });
      expect(decrypt('5e'.repeat(32)).equals(privateKey)).toBe(true);
      expect(() => decrypt('5f'.repeat(32))).toThrow();

      const { text } = await request(service.url).get('/.well-known/jwks.json');
      expect(text).toContain(kid);
      expect(text).not.toContain('"d"');
      expect(service.log.join('')).not.toContain(d);
    } finally {
      await service.close();
    }
  });

  it('that were stored with another SECRET_KEY are retired with a warning, and still published', async () => {
    const first = await start();
    const [old] = await kids(first.url);
    await first.app.get(KeyStore).rotate(); // a waiting key is lost as well
    await first.close();
    const second = await start(ANOTHER_SECRET);
    try {
      const [fresh, ...published] = await kids(second.url);
      expect(published).toEqual([old]);
      expect(fresh).not.toBe(old);
      expect(second.log.join('')).toContain(`Signing key ${old} was stored with another SECRET_KEY`);
      expect(second.app.get(KeyService).signing.kid).toBe(fresh);
      expect(await query(database.url, 'SELECT kid FROM signing_keys WHERE active_at > now()')).toEqual([]);
    } finally {
      await second.close();
    }
  });

  it('stop the start in production when they cannot be decrypted', async () => {
    const first = await start();
    const before = await dump(database.url);
    const [kid] = await kids(first.url);
    await first.close();
    await expect(start({ ...PRODUCTION, ...ANOTHER_SECRET })).rejects.toThrow(
      new RegExp(`^Signing key ${kid} cannot be decrypted`), // not as if it could not listen
    );
    expect(await dump(database.url)).toBe(before);
  });

  it('stay published as long as the longest token of any instance may live', async () => {
    const hour = await start();
    const longer = await start({ ACCESS_TOKEN_TTL: '7200' });
    const keys = () => hour.app.get(KeyReader).list();
    try {
      await hour.app.get(KeyStore).rotate();
      const [next, old] = await keys();
      expect(old!.endsAt!.getTime() - next!.activeAt.getTime()).toBe((7200 + 60) * 1000);
      // The other instance has longer tokens than the one that made the key, and says so when it reads that key.
      await until(async () => (await keys())[0]!.tokenTtl === 7200);
    } finally {
      await Promise.all([hour.close(), longer.close()]);
    }
  });

  it('are known even if another row is not a valid key', async () => {
    const service = await start();
    try {
      await query(
        database.url,
        `INSERT INTO signing_keys (kid, public_jwk, encrypted_private_key, active_at, token_ttl)
         VALUES ('bad', '{"kty": "EC"}', '', now() - interval '1 minute', 100000)`,
      );
      await until(() => service.log.some((line) => line.includes('Signing key bad is not a valid key')));
      const signing = service.app.get(KeyService).signing.kid;
      await service.app.get(KeyStore).revoke(signing);
      await until(async () => !(await kids(service.url)).includes(signing));
      expect(await kids(service.url)).toHaveLength(1);
      expect(service.log.filter((line) => line.includes('is not a valid key'))).toHaveLength(1);
    } finally {
      await service.close();
    }
  });

  it('end by the database’s clock, whatever the instance’s clock says', async () => {
    const provider = await StubProvider.start();
    const service = await start(provider.env());
    const clock = service.app.get(Clock);
    const slow = jest.spyOn(clock, 'now').mockImplementation(() => Date.now() + 90_000); // so the instance is late by that
    try {
      const { access_token } = await signIn(service.url);
      await bearer(service.url, access_token).get('/me').expect(200);
      // For this instance, its end was a moment ago.
      await query(database.url, `UPDATE signing_keys SET revoked_at = now() + interval '85 s'`);
      await until(async () => (await kids(service.url)).length === 0);
      await bearer(service.url, access_token).get('/me').expect(401);
    } finally {
      slow.mockRestore();
      await service.close();
      await provider.close();
    }
  });

  it('stay as they were last known while they cannot be read', async () => {
    const provider = await StubProvider.start();
    const service = await start(provider.env());
    try {
      const { access_token, refresh_token } = await signIn(service.url);
      await query(database.url, 'ALTER TABLE signing_keys RENAME TO hidden');
      const failure = 'relation \\"signing_keys\\" does not exist';
      await until(() => service.log.some((line) => line.includes(failure)));
      await request(service.url).post('/oauth2/refresh').send({ refresh_token }).expect(200);
      await bearer(service.url, access_token).get('/me').expect(200);

      await query(database.url, 'ALTER TABLE hidden RENAME TO signing_keys');
      const { kid } = await service.app.get(KeyStore).rotate();
      await until(async () => (await kids(service.url)).includes(kid));
    } finally {
      await service.close();
      await provider.close();
    }
  });
});
