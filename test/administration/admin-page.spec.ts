import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { request as call, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import request from 'supertest';
import { startTestService } from '../support/service.js';
import { use } from '../support/use.js';

const FOLDER = fileURLToPath(new URL('../../admin/dist/', import.meta.url));
const FILES = readdirSync(FOLDER).filter((name) => !/\.(?:br|gz)$/.test(name));

/** The static files of the administration page; what they do is in test/browsers/. */
describe('the administration page', () => {
  const service = use(() => startTestService());

  const get = (path: string): request.Test => request(service.url).get(path);

  it('takes 165 kB, compressed, with what loads on demand', () => {
    expect(FILES).toEqual(expect.arrayContaining(['callback.js', 'index.html', 'main.js', 'style.css']));
    const sizes = FILES.map((name) => gzipSync(readFileSync(FOLDER + name), { level: 9 }).length);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(165_000);
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

  it('is found with a slash at the end, too', async () => {
    const { headers } = await get('/admin/?a=b').expect(302);
    expect(new URL(headers['location']!, `${service.url}/admin/`).href).toBe(`${service.url}/admin`);
  });

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
    await get('/admin/main.js').set('If-None-Match', headers['etag']!).expect(304);
    for (const name of ['licences.txt', 'main.js.br', 'main.js.gz']) await get(`/admin/${name}`).expect(404);
  });

  /** Without supertest, which asks for compression and undoes it. */
  async function raw(path: string, headers: OutgoingHttpHeaders = {}, method = 'GET') {
    const [response] = (await once(call(service.url + path, { headers, method }).end(), 'response')) as [
      IncomingMessage,
    ];
    return { status: response.statusCode, headers: response.headers, body: await buffer(response) };
  }
  const MAIN = readFileSync(`${FOLDER}main.js`);

  it.each<[string | undefined, string | undefined, (body: Buffer) => Buffer]>([
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync], // a browser over https
    ['gzip, deflate', 'gzip', gunzipSync], // a browser over http
    ['br;q=0, gzip;q=0.5', 'gzip', gunzipSync],
    ['*', 'br', brotliDecompressSync],
    ['identity, br;q=0', undefined, (body) => body],
    ['', undefined, (body) => body],
    [undefined, undefined, (body) => body],
  ])('Accept-Encoding: %s', async (accepted, coding, decoded) => {
    const headers = accepted === undefined ? {} : { 'Accept-Encoding': accepted };
    const whole = await raw('/admin/main.js', headers);
    expect([whole.status, whole.headers['content-encoding']]).toEqual([200, coding]);
    expect(decoded(whole.body).equals(MAIN)).toBe(true);
    expect(whole.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'content-length': String(whole.body.length),
      'cache-control': 'no-cache',
      vary: 'Origin, Accept-Encoding',
      etag: expect.stringMatching(/^"/),
    });
    expect(whole.headers).not.toHaveProperty('last-modified'); // all files of a package have one time

    const { etag } = whole.headers;
    const head = await raw('/admin/main.js', headers, 'HEAD');
    const { date: _one, 'x-request-id': _its, ...same } = whole.headers;
    expect([head.status, head.body.length]).toEqual([200, 0]);
    expect(head.headers).toMatchObject(same);
    const unchanged = await raw('/admin/main.js', { ...headers, 'If-None-Match': etag });
    expect([unchanged.status, unchanged.body.length, unchanged.headers.etag]).toEqual([304, 0, etag]);
    expect(unchanged.headers.vary).toBe('Origin, Accept-Encoding');

    // A range is one of the compressed bytes (RFC 9110 §14.2).
    const part = await raw('/admin/main.js', { ...headers, Range: 'bytes=5-99', 'If-Range': etag });
    expect([part.status, part.headers['content-encoding']]).toEqual([206, coding]);
    expect(part.body.equals(whole.body.subarray(5, 100))).toBe(true);
    const other = await raw('/admin/main.js', { ...headers, Range: 'bytes=5-99', 'If-Range': '"other"' });
    expect([other.status, other.body.length]).toEqual([200, whole.body.length]);
    const behind = await raw('/admin/main.js', { ...headers, Range: 'bytes=999999-' });
    expect(JSON.parse(behind.body.toString())).toMatchObject({ error: 'invalid_request' });
    for (const name of ['content-encoding', 'etag']) expect(behind.headers).not.toHaveProperty(name);
  });

  it('has another ETag in each coding, since caches tell them apart by it', async () => {
    const answers = ['br', 'gzip', 'identity'].map((one) =>
      raw('/admin/main.js', { 'Accept-Encoding': one }),
    );
    expect(new Set((await Promise.all(answers)).map(({ headers }) => headers.etag)).size).toBe(3);
  });

  it('is a third of its size at a first visit', async () => {
    const paths = ['/admin', '/admin/main.js', '/admin/style.css'];
    const first = async (coding: string): Promise<number> => {
      const answers = paths.map((path) => raw(path, { 'Accept-Encoding': coding }));
      return (await Promise.all(answers)).reduce((sum, { body }) => sum + body.length, 0);
    };
    const [plain, gzip, br] = [await first('identity'), await first('gzip'), await first('br')];
    expect([gzip < plain * 0.35, br < plain * 0.31]).toEqual([true, true]);
  });

  it('does not exist if ADMIN_ENABLED is false', async () => {
    const without = await startTestService({ ADMIN_ENABLED: 'false', DATABASE_URL: service.databaseUrl });
    for (const path of ['/admin', '/admin/users', '/admin/main.js', '/admin/callback'])
      expect((await fetch(without.url + path)).status).toBe(404);
    await without.close();
  });
});
