import { request as ask } from 'node:http';
import type { Express } from 'express';
import request from 'supertest';
import { Readiness } from '../../src/operations/readiness.js';
import { KeyRing } from '../../src/token/keys/key-ring.js';
import { startTestService } from '../support/service.js';
import { use } from '../support/use.js';

const CACHED = [
  '/.well-known/jwks.json',
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
  '/oauth2/providers',
];
const PUBLIC_GETS = [...CACHED, '/health/live', '/health/ready', '/oauth2/authorize', '/nothing', '/'];

describe('HTTP', () => {
  const service = use(() => startTestService({ CORS_ORIGINS: 'https://app.example' }));

  it('creates requests and responses with the prototypes Express would set', async () => {
    const server = service.app.getHttpServer();
    const express: Express = service.app.getHttpAdapter().getInstance();
    const seen: boolean[] = [];
    server.prependOnceListener('request', (req, res) => {
      seen.push(
        Object.getPrototypeOf(req) === express.request,
        Object.getPrototypeOf(res) === express.response,
      );
    });
    await request(service.url).get('/health/live').expect(200);
    expect(seen).toEqual([true, true]);
  });

  it.each(PUBLIC_GETS)('%s carries the security headers, and no X-Powered-By', async (path) => {
    const { headers } = await request(service.url).get(path);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
    expect(headers['x-powered-by']).toBeUndefined();
    expect(headers['etag'] === undefined || path === '/').toBe(true);
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    if (CACHED.includes(path)) expect(headers['cache-control']).toBe('public, max-age=300');
    else if (path !== '/') expect(headers['cache-control']).toBe('no-store');
  });

  it.each([
    ['get', '/nothing', 404, 'not_found', undefined],
    ['get', '/oauth2/token/', 404, 'not_found', undefined],
    ['get', '/OAuth2/authorize', 404, 'not_found', undefined],
    ['get', '//oauth2/authorize', 404, 'not_found', undefined],
    ['get', '/oauth2/token', 405, 'method_not_allowed', 'POST'],
    ['put', '/oauth2/refresh', 405, 'method_not_allowed', 'POST'],
    ['post', '/oauth2/authorize', 405, 'method_not_allowed', 'GET, HEAD'],
    ['delete', '/.well-known/jwks.json', 405, 'method_not_allowed', 'GET, HEAD'],
  ] as const)('%s %s: %i %s', async (method, path, status, error, allow) => {
    const response = await request(service.url)[method](path);
    expect([response.status, response.body]).toEqual([
      status,
      { error, error_description: expect.any(String) },
    ]);
    expect(response.headers['allow']).toBe(allow);
  });

  it.each([
    ['broken JSON', 'application/json', '{"a'],
    ['a form of too many parameters', 'application/x-www-form-urlencoded', '&'.repeat(500)],
    ['more than 64 KiB', 'application/json', ' '.repeat(100_000)],
  ])('path and method are checked before a body: %s', async (_name, type, body) => {
    for (const [path, status, allow] of [
      ['/nothing', 404, undefined],
      ['/me', 405, 'GET, HEAD'],
      ['/%FF', 404, undefined],
    ] as const) {
      const response = await request(service.url).post(path).set('Content-Type', type).send(body);
      expect([response.status, response.headers['allow']]).toEqual([status, allow]);
      expect(response.headers['cache-control']).toBe('no-store');
    }
  });

  const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

  it.each([
    ['a browser', '/nothing', BROWSER, 'text/html'],
    ['a browser at a path with a slash too many', '/users/', BROWSER, 'text/html'],
    ['a program', '/nothing', '*/*', 'application/json'],
    ['a program that names JSON', '/nothing', 'application/json, text/plain, */*', 'application/json'],
    ['a program that prefers JSON', '/nothing', 'text/html;q=0.5, application/json', 'application/json'],
    ['a program that says nothing', '/nothing', '', 'application/json'],
    ['a program that wants an image', '/nothing', 'image/png', 'application/json'],
    ['a browser where there are other methods', '/oauth2/token', BROWSER, 'application/json'],
  ])('an unknown path, for %s: %s', async (_who, path, accept, type) => {
    const { status, headers, text } = await request(service.url).get(path).set('Accept', accept);
    expect([status, headers['content-type']]).toEqual([
      path === '/oauth2/token' ? 405 : 404,
      `${type}; charset=utf-8`,
    ]);
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(text).toContain(type === 'text/html' ? '<h1>There is no page here</h1>' : '"error":');
    expect(text).not.toContain('nothing</'); // nothing of the address
  });

  it('the method is checked before the body of a HEAD, too', async () => {
    const head = (body: string) =>
      new Promise((resolve, reject) => {
        const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };
        const sent = ask(`${service.url}/sign-out`, { method: 'HEAD', headers }, (response) =>
          resolve(response.resume().statusCode),
        );
        sent.on('error', reject).end(body);
      });
    expect([await head(''), await head('{')]).toEqual([405, 405]);
  });

  it('no error may be stored, even if the successful answer may be', async () => {
    const keys = service.app.get(KeyRing);
    Object.defineProperty(keys, 'jwks', {
      configurable: true,
      get: () => {
        throw new Error('a fault');
      },
    });
    try {
      const { headers } = await request(service.url).get('/.well-known/jwks.json').expect(500);
      expect(headers['cache-control']).toBe('no-store');
    } finally {
      Reflect.deleteProperty(keys, 'jwks');
    }
    const { headers } = await request(service.url).get('/.well-known/jwks.json').expect(200);
    expect(headers['cache-control']).toBe('public, max-age=300');
  });

  it('the log has a health probe with 503 as information', async () => {
    const stopping = await startTestService();
    try {
      stopping.app.get(Readiness).isStopping = true;
      await request(stopping.url).get('/health/ready').expect(503);
      const lines = () =>
        stopping.log
          .map((line) => JSON.parse(line) as Record<string, unknown>)
          .filter(({ msg }) => msg === 'request')
          .map(({ level, path, status }) => [level, path, status]);
      expect(lines()).toEqual([['info', '/health/ready', 503]]);
    } finally {
      await stopping.close();
    }
  });

  it('gives each answer a new id, never that of the client', async () => {
    const ids = [];
    for (let i = 0; i < 2; i++) {
      const { headers } = await request(service.url).get('/health/live').set('X-Request-Id', 'forged\tline');
      ids.push(headers['x-request-id']);
    }
    expect(new Set(ids).size).toBe(2);
    expect(ids[0]).toMatch(/^[0-9a-f-]{36}$/);
  });

  describe('CORS', () => {
    it.each([
      ['an origin on the list', 'https://app.example', true],
      ['our own', '', true],
      ['another one', 'https://evil.example', false],
    ])('%s', async (_name, origin, allowed) => {
      const sent = origin || service.settings.publicUrl;
      const { headers } = await request(service.url).get('/health/live').set('Origin', sent).expect(200);
      expect(headers['access-control-allow-origin']).toBe(allowed ? sent : undefined);
      expect(headers['vary']).toContain('Origin');
      const exposed = allowed ? 'Retry-After,WWW-Authenticate,Date' : undefined;
      expect(headers['access-control-expose-headers']).toBe(exposed);
      const preflight = await request(service.url)
        .options('/oauth2/token')
        .set({ Origin: sent, 'Access-Control-Request-Headers': 'content-type' })
        .set('Access-Control-Request-Method', 'POST')
        .expect(204);
      expect(preflight.headers['access-control-allow-origin']).toBe(allowed ? sent : undefined);
      expect(preflight.headers['access-control-allow-headers']).toBe(allowed ? 'content-type' : undefined);
    });
  });

  it('an error instead of a static file is JSON', async () => {
    for (const header of [{ 'If-Match': '"x"' }, { Range: 'bytes=99999999-' }]) {
      const response = await request(service.url).get('/demo/style.css').set(header);
      expect(response.status).toBe(400);
      expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    }
  });

  it('logs no more than the beginning of a path', async () => {
    await request(service.url)
      .get(`/nothing/${'x'.repeat(10_000)}`)
      .expect(404);
    const line = service.log.findLast((one) => one.includes('/nothing/'))!;
    expect(line).toContain('/nothing/xxx');
    expect(line.length).toBeLessThan(1000);
  });

  it('logs neither query nor headers nor body, and shows no stack to the client', async () => {
    const secret = 'a-very-secret-code';
    await request(service.url)
      .get(`/oauth2/authorize?provider=x&code=${secret}`)
      .set('Authorization', `Bearer ${secret}`);
    await request(service.url)
      .post('/oauth2/token')
      .send({ code: secret, state: 'ab'.repeat(32) });
    await request(service.url).post('/oauth2/refresh').send({ refresh_token: secret });
    expect(service.log.some((line) => line.includes('/oauth2/refresh'))).toBe(true);
    expect(service.log.join('')).not.toContain(secret);
  });
});
