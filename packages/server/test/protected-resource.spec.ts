import { createVerifier, requireScope, type ProtectedResourceOptions } from '../src/index.js';
import { createSessions } from '../src/session.js';
import { APIS, serve } from './support/apis.js';
import { FakeService } from './support/fake-service.js';

const METADATA = '/.well-known/oauth-protected-resource';

/** What the vectors cannot show (verifiers/vectors/agents.json): frameworks and options. */
describe('an API for programs of third parties', () => {
  let service: FakeService;
  beforeAll(async () => void (service = await FakeService.start()));
  afterAll(() => service.close());

  it.each(Object.entries(APIS))('%s: serves its metadata, and names it in refusals', async (name, start) => {
    const origin = `https://${name.toLowerCase().replace('.', '')}.example`;
    const resource = `${origin}/mcp`;
    const verifier = createVerifier({ issuer: service.url, audience: [service.url, resource] });
    const handled: string[] = [];
    const observer = { call: () => void handled.push('call'), error: () => undefined };
    const declared = { resource, scopes: ['orders:read', 'orders:list'] };
    const api = await serve(await start(verifier, observer, [verifier, declared]));
    try {
      for (const path of [`${METADATA}/mcp`, `${METADATA}/mcp?x=${METADATA}`, METADATA]) {
        const answer = await fetch(api.url + path, { headers: { 'x-forwarded-host': 'evil.example' } });
        expect([path, answer.status]).toEqual([path, 200]);
        expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
        expect(answer.headers.get('access-control-allow-origin')).toBe('*');
        expect(await answer.json()).toEqual({
          resource,
          authorization_servers: [service.url],
          scopes_supported: ['orders:read', 'orders:list'],
          bearer_methods_supported: ['header'],
        });
      }
      expect((await fetch(`${api.url}${METADATA}/mcp`, { method: 'HEAD' })).status).toBe(200);
      expect((await fetch(`${api.url}${METADATA}/mcp`, { method: 'POST' })).status).not.toBe(200);

      const call = async (path: string, claims?: object) => {
        const headers = claims && { authorization: `Bearer ${await service.token({ ...claims })}` };
        const answer = await fetch(api.url + path, { headers: headers ?? {} });
        await answer.arrayBuffer();
        return [answer.status, answer.headers.get('www-authenticate')];
      };
      const metadata = `resource_metadata="${origin}${METADATA}/mcp"`;
      const scope = 'scope="orders:read orders:list"';
      expect(await call('/orders')).toEqual([401, `Bearer ${metadata}, ${scope}`]);
      expect(await call('/orders', { aud: 'https://other.example' })).toEqual([
        401,
        `Bearer error="invalid_token", ${metadata}, ${scope}`,
      ]);
      expect(await call('/orders', { aud: resource, scope: 'orders:read' })).toEqual([200, null]);
      expect(await call('/scoped')).toEqual([401, `Bearer ${metadata}, ${scope}`]);
      expect(await call('/scoped', { aud: resource, scope: 'orders:read' })).toEqual([
        403,
        `Bearer error="insufficient_scope", ${metadata}, scope="orders:read orders:write"`,
      ]);
      expect(await call('/scoped', { aud: resource, scope: 'orders:write' })).toEqual([200, null]);
      expect(await call('/scoped', {})).toEqual([200, null]); // a token of the application
      expect(handled).toHaveLength(3);
    } finally {
      await api.close();
    }
  });

  const API = 'https://options.example/mcp';

  it.each<[string, unknown]>([
    ['a variable that is not set', undefined],
    ['an empty text', ''],
    ['an empty list', []],
    ['a list with something else', [API, undefined]],
    ['an object', { resource: API }],
  ])('createVerifier() fails for an audience that is %s', (_name, audience) => {
    expect(() => createVerifier({ issuer: service.url, audience: audience as string })).toThrow('audience');
  });

  it('createSessions() has no audience: its sessions are of the application', () => {
    const options = { issuer: service.url, clientUrl: 'https://app.example', cookieSecret: 'x'.repeat(32) };
    expect(() => createSessions({ ...options, audience: API } as typeof options)).toThrow(
      'no option audience',
    );
  });

  it.each<[string, Partial<Record<keyof ProtectedResourceOptions, unknown>>]>([
    ['another resource than those of the audience', { resource: 'https://other.example/mcp' }],
    ['a resource that is no address', { resource: 'orders' }],
    ['a resource with a fragment', { resource: `${API}#x` }],
    ['no scopes', { scopes: [] }],
    ['a scope with a space', { scopes: ['a b'] }],
    ['a scope that ends the header', { scopes: ['a", error="x'] }],
    ['a text in place of the list', { scopes: 'orders:read' }],
    ['an unknown option', { scope: ['orders:read'] } as object],
  ])('protectedResource() fails for %s', (_name, change) => {
    const verifier = createVerifier({ issuer: service.url, audience: [API, `${API}#x`, 'orders'] });
    const options = { resource: API, scopes: ['orders:read'], ...change } as ProtectedResourceOptions;
    expect(() => verifier.protectedResource(options)).toThrow(TypeError);
  });

  it.each([[[]], [['a b']], [['']], [[7]]])('requireScope() fails at the start for %j', (scopes) => {
    expect(() => requireScope(...(scopes as unknown as [string]))).toThrow(TypeError);
  });

  it('requireScope() fails without authenticate(), and refuses claims without an audience', () => {
    expect(() => requireScope('a')(undefined as never)).toThrow('authenticate() has to run before');
    expect(() => requireScope('a')({})).toThrow('insufficient_scope');
  });
});
