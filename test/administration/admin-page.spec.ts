import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import request from 'supertest';
import { startTestService, type TestService } from '../support/service.js';

const FOLDER = fileURLToPath(new URL('../../admin/dist/', import.meta.url));
const FILES = readdirSync(FOLDER);

/** The static files of the administration page; what they do is in test/browsers/. */
describe('the administration page', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service?.close());

  const get = (path: string): request.Test => request(service.url).get(path);

  it('takes 150 kB, compressed', () => {
    expect(FILES).toEqual(expect.arrayContaining(['callback.js', 'index.html', 'main.js', 'style.css']));
    const sizes = FILES.map((name) => gzipSync(readFileSync(FOLDER + name), { level: 9 }).length);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(150_000);
  });

  it('has texts in its own language only', () => {
    const texts = FILES.map((name) => readFileSync(FOLDER + name, 'utf8')).join('\n');
    const languages = texts.matchAll(/\blanguage:["'`]([a-z-]+)/g);
    expect(new Set([...languages].map(([, language]) => language))).toEqual(new Set(['en']));
  });

  it.each(['/admin', '/admin/users', '/admin/users/00000000-0000-4000-8000-000000000000', '/admin/audit'])(
    'is served at %s, with a policy that allows its own files only',
    async (path) => {
      const { headers, text } = await get(path).set('Accept', 'text/html').expect(200);
      expect(headers['content-type']).toBe('text/html; charset=utf-8');
      expect(headers['cache-control']).toBe('no-cache');
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("img-src 'self' data:;"); // a picture's host would learn the administrator's address
      expect(policy).not.toMatch(/unsafe|https?:/);
      expect(text).not.toMatch(/<script(?![^>]* src="\/admin\/)|<style| style=| on[a-z]+=|https?:/);
    },
  );

  it('has a callback that only its own pages may frame', async () => {
    const { headers } = await get('/admin/callback?code=a&state=b').expect(200);
    expect(headers['content-security-policy']).toContain("frame-ancestors 'self'");
    expect(headers['content-security-policy']).not.toContain('connect-src');
  });

  it('sends its files, and no others', async () => {
    const { headers, text } = await get('/admin/main.js').expect(200);
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'no-cache',
    });
    expect(text).toBe(readFileSync(`${FOLDER}main.js`, 'utf8'));
    await get('/admin/main.js').set('If-Modified-Since', headers['last-modified']!).expect(304);
    await get('/admin/licences.txt').expect(404);
  });

  it('does not exist if ADMIN_ENABLED is false', async () => {
    const without = await startTestService({ ADMIN_ENABLED: 'false', DATABASE_URL: service.databaseUrl });
    for (const path of ['/admin', '/admin/users', '/admin/main.js', '/admin/callback'])
      expect((await fetch(without.url + path)).status).toBe(404);
    await without.close();
  });
});
