import { parseAgentsFile } from './agents-file.js';

const HASH = 'a'.repeat(64);
const settings = { publicUrl: 'https://id.example', refreshTokenTtl: 1000, production: true };
const api = { resource: 'https://api.example/mcp', name: 'Orders', scopes: { read: 'See your orders' } };
const client = {
  client_id: 'partner',
  client_name: 'Partner',
  redirect_uris: ['https://partner.example/cb'],
};
const parse = (content: unknown, more: Partial<typeof settings> = {}) =>
  parseAgentsFile(typeof content === 'string' ? content : JSON.stringify(content), { ...settings, ...more });

it('names APIs and programs', () => {
  const scopes = { read: 'See', write: { en: 'Change', de: 'Ändern' } };
  const second = { ...api, resource: 'https://API.example', scopes, default_scopes: ['read'] };
  const file = parse(
    {
      resources: [
        { ...api, claims: ['roles'], service_keys_sha256: [HASH] },
        { ...second, resource: 'https://api2.example' },
      ],
      trust: ['claude.ai', '*.example.com', 'https://one.example/id.json'],
      clients: [{ ...client, client_secret_hash: HASH }],
      session_ttl: 60,
    },
    {},
  );
  expect(file.resources[0]).toMatchObject({ defaultScopes: ['read'], claims: ['roles'] });
  expect(file.resources[1]!.scopes.get('write')).toEqual({ en: 'Change', de: 'Ändern' });
  expect(file.resources[1]!.defaultScopes).toEqual(['read']);
  expect(file.clients.get('partner')!.secretHash).toEqual(Buffer.from(HASH, 'hex'));
  expect(file.sessionTtl).toBe(60);
});

it.each<[string, boolean]>([
  ['https://api.example/mcp', true],
  ['HTTPS://API.example/mcp/', true],
  ['https://api.example/MCP', false],
  ['https://api.example/mcp//', false],
  ['https://api.example', false],
])('finds an API by %s: %s', (identifier, isFound) => {
  expect(parse({ resources: [api] }).findResource(identifier)?.resource === api.resource).toBe(isFound);
});

it.each<[string, string, boolean]>([
  ['claude.ai', 'https://claude.ai/id', true],
  ['claude.ai', 'https://claude.ai:8443/id', true],
  ['claude.ai', 'https://evil.claude.ai/id', false],
  ['claude.ai', 'https://claude.ai.evil.example/id', false],
  ['*.example.com', 'https://a.b.example.com/id', true],
  ['*.example.com', 'https://example.com/id', false],
  ['*.example.com', 'https://badexample.com/id', false],
  ['https://one.example/id', 'https://one.example/id', true],
  ['https://one.example/id', 'https://one.example/id2', false],
  ['*', 'https://any.example/id', true],
])('trust %s accepts %s: %s', (entry, clientId, isAccepted) => {
  expect(parse({ resources: [api], trust: [entry] }).trust.accepts(clientId)).toBe(isAccepted);
});

const withApi = (more: object) => ({ resources: [{ ...api, ...more }] });
const withClient = (more: object) => ({ resources: [api], clients: [{ ...client, ...more }] });

it.each<[string, unknown, string]>([
  ['no JSON', '{"client_secret": "hunter2"', 'the file is not JSON'],
  ['a list', [], 'the file is'],
  ['no API', { resources: [] }, 'resources is'],
  ['another member', { resources: [api], trusted: [] }, 'no other members than resources, trust'],
  ['an API over http', withApi({ resource: 'http://api.example' }), 'resources[0].resource'],
  ['an API with a fragment', withApi({ resource: 'https://api.example/#a' }), 'resources[0].resource'],
  ['an API with a usual port', withApi({ resource: 'https://api.example:443/mcp' }), 'resources[0].resource'],
  ['the application itself', withApi({ resource: 'https://id.example/' }), 'another URL than PUBLIC_URL'],
  ['an API twice', { resources: [api, { ...api, resource: `${api.resource}/` }] }, 'each resource once'],
  ['a name with directions', withApi({ name: 'a\u202eb' }), 'resources[0].name'],
  ['no scope', withApi({ scopes: {} }), 'resources[0].scopes'],
  ['a scope with a blank', withApi({ scopes: { 'a b': 'x' } }), 'resources[0].scopes'],
  ['a scope of OpenID', withApi({ scopes: { offline_access: 'x' } }), 'resources[0].scopes'],
  ['a long sentence', withApi({ scopes: { read: 'x'.repeat(121) } }), 'resources[0].scopes.read'],
  ['sentences without English', withApi({ scopes: { read: { de: 'x' } } }), 'resources[0].scopes.read'],
  ['another default', withApi({ default_scopes: ['write'] }), 'resources[0].default_scopes'],
  ['a claim of the token', withApi({ claims: ['sub'] }), 'resources[0].claims'],
  ['a service key itself', withApi({ service_keys_sha256: ['hunter2'] }), 'resources[0].service_keys_sha256'],
  ['a part of a host', { resources: [api], trust: ['*claude.ai'] }, 'trust[0]'],
  ['a URL with a query', { resources: [api], trust: ['https://a.example/id?x'] }, 'trust[0]'],
  ['a client that is a URL', withClient({ client_id: 'https://a.example/id' }), 'clients[0].client_id'],
  ['a client twice', { resources: [api], clients: [client, client] }, 'each client_id once'],
  ['a client without an address', withClient({ redirect_uris: [] }), 'clients[0].redirect_uris'],
  ['a client with http', withClient({ redirect_uris: ['http://a.example/'] }), 'clients[0].redirect_uris'],
  ['a secret itself', withClient({ client_secret_hash: 'hunter2' }), 'clients[0].client_secret_hash'],
  ['keys without keys', withClient({ jwks: { keys: [] } }), 'clients[0].jwks'],
  ['two ways', withClient({ jwks: { keys: [{}] }, client_secret_hash: HASH }), 'not both'],
  ['a long session', { resources: [api], session_ttl: 1001 }, 'at most REFRESH_TOKEN_TTL (1000)'],
])('is refused with %s: the member is named, and no value', (_name, content, error) => {
  expect(() => parse(content)).toThrow(error);
  expect(() => parse(content)).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
  );
});

it('takes http on loopback outside production alone', () => {
  const content = withApi({ resource: 'http://localhost:8000/mcp' });
  expect(parse(content, { production: false }).resources[0]!.resource).toBe('http://localhost:8000/mcp');
  expect(() => parse(content)).toThrow('resources[0].resource');
});
