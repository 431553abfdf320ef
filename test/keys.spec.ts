import request from 'supertest';
import { createDatabase } from './support/database.js';
import { dump, query } from './support/query.js';
import { startTestService } from './support/service.js';

type Jwks = { keys: { kid: string; d?: string }[] };

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

  it('instances that start together on an empty database make one key', async () => {
    const instances = await Promise.all(
      Array.from({ length: 4 }, () => startTestService({ DATABASE_URL: database.url })),
    );
    try {
      const all = await Promise.all(instances.map(({ url }) => kids(url)));
      expect(all[0]).toHaveLength(1);
      expect(new Set(all.flat()).size).toBe(1);
    } finally {
      await Promise.all(instances.map((instance) => instance.close()));
    }
  });

  it('outlive the process, and their private part is published nowhere', async () => {
    const first = await startTestService({ DATABASE_URL: database.url });
    const [kid] = await kids(first.url);
    await first.close();
    const second = await startTestService({ DATABASE_URL: database.url });
    try {
      expect(await kids(second.url)).toEqual([kid]);
      const { text } = await request(second.url).get('/.well-known/jwks.json');
      expect(text).not.toContain('"d"');
      expect(await dump(database.url)).not.toMatch(/PRIVATE KEY|"d"/);
    } finally {
      await second.close();
    }
  });

  it('that were stored with another SECRET_KEY are retired with a warning, and still published', async () => {
    const first = await startTestService({ DATABASE_URL: database.url });
    const [old] = await kids(first.url);
    await first.close();
    const second = await startTestService({ DATABASE_URL: database.url, SECRET_KEY: 'a1'.repeat(32) });
    try {
      const [fresh, published] = await kids(second.url);
      expect(published).toBe(old);
      expect(fresh).not.toBe(old);
      expect(second.log.join('')).toContain(`Signing key ${old} was stored with another SECRET_KEY`);
      expect(await query(database.url, 'SELECT kid FROM signing_keys WHERE retired_at IS NULL')).toEqual([
        { kid: fresh },
      ]);
    } finally {
      await second.close();
    }
  });

  it('stop the start in production when they cannot be decrypted', async () => {
    const first = await startTestService({ DATABASE_URL: database.url });
    const before = await kids(first.url);
    await first.close();
    const start = startTestService({
      DATABASE_URL: database.url,
      NODE_ENV: 'production',
      PUBLIC_URL: 'https://id.example',
      REDIRECT_URIS: 'https://app.example/cb',
      TRUST_PROXY: 'false',
      SECRET_KEY: 'a1'.repeat(32),
    });
    await expect(start).rejects.toThrow(`Signing key ${before[0]} cannot be decrypted`);
  });
});
