import { gzipSync } from 'node:zlib';
import { jest } from '@jest/globals';
import { answerWith, RawProvider } from '../../../../test/support/raw-provider.js';
import { ClientDocuments } from './client-documents.js';

let host: RawProvider;
let documents: ClientDocuments;
beforeEach(async () => {
  host = await RawProvider.start();
  documents = new ClientDocuments({ production: false });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await documents.onApplicationShutdown();
  await host.close();
});

const idAt = (path = '/program'): string => `${host.url}${path}`;
const documentOf = (clientId: string, more: object = {}): object => ({
  client_id: clientId,
  client_name: 'Program',
  redirect_uris: ['https://program.example/cb'],
  ...more,
});

/** Answers each request with the document of its path. */
function serve(more: object = {}, headers: readonly string[] = ['Content-Type: application/json']): void {
  host.answer = (socket, request) => {
    const [, path] = /^GET (\S+)/.exec(request)!;
    answerOf(JSON.stringify(documentOf(idAt(path), more)), headers)(socket, request);
  };
}

function answerOf(body: string | Buffer, headers: readonly string[], status = '200 OK') {
  const head = [`HTTP/1.1 ${status}`, ...headers, `Content-Length: ${Buffer.byteLength(body)}`, '', ''].join(
    '\r\n',
  );
  return answerWith(Buffer.concat([Buffer.from(head), Buffer.from(body)]));
}

const JSON_TYPE = ['Content-Type: application/json; charset=utf-8'];
const refusal = async (clientId = idAt()): Promise<string> =>
  documents.find(clientId).then(
    () => 'accepted',
    ({ error, reason }: { error: string; reason: string }) => `${error}: ${reason.replace(clientId, '')}`,
  );

it('reads a document', async () => {
  serve({
    client_uri: 'https://program.example',
    redirect_uris: ['https://a.example/', 'http://b.example/', 7],
  });
  const { content } = await documents.find(idAt());
  expect(content).toEqual({ name: 'Program', redirectUris: ['https://a.example/'] });
  expect(host.requests).toEqual([
    expect.stringMatching(/^GET \/program HTTP\/1.1\r\n[^]*accept-encoding: identity/i),
  ]);
});

it.each<[string, object, string]>([
  ['of another client_id', { client_id: 'https://other.example/program' }, 'its client_id is another one'],
  ['with a secret', { client_secret: 'x' }, 'it has a client_secret'],
  [
    'without a redirect URI that counts',
    { redirect_uris: ['http://a.example/', 'app:/cb'] },
    'it has no redirect',
  ],
  ['with a redirect URI alone', { redirect_uris: 'https://a.example/' }, 'it has no redirect'],
  ['with 21 redirect URIs', { redirect_uris: Array(21).fill('https://a.example/') }, 'it has over 20'],
  [
    'with a shared secret',
    { token_endpoint_auth_method: 'client_secret_basic' },
    'its token_endpoint_auth_method',
  ],
  [
    'with keys that are none',
    { token_endpoint_auth_method: 'private_key_jwt', jwks: [] },
    'it is no set of keys',
  ],
  ['without its keys', { token_endpoint_auth_method: 'private_key_jwt' }, 'private_key_jwt needs'],
])('refuses a document %s', async (_name, more, reason) => {
  serve(more);
  expect(await refusal()).toContain(`invalid_client: : ${reason}`);
});

it.each<[string, () => RawProvider['answer'], string]>([
  ['a redirect', () => answerOf('', [`Location: ${idAt('/other')}`], '302 Found'), 'has status 302'],
  ['an error', () => answerOf('{}', JSON_TYPE, '404 Not Found'), 'has status 404'],
  ['another type', () => answerOf('{}', ['Content-Type: text/html']), 'is not application/json'],
  ['no type', () => answerOf('{}', []), 'is not application/json'],
  ['text', () => answerOf('{', JSON_TYPE), 'it is no JSON'],
  ['a list', () => answerOf('[]', JSON_TYPE), 'it is no JSON object'],
  [
    'a packed document',
    () => answerOf(gzipSync(JSON.stringify(documentOf(idAt()))), [...JSON_TYPE, 'Content-Encoding: gzip']),
    'it is no JSON',
  ],
  ['a byte too many', () => answerOf(' '.repeat(5 * 1024 + 1), JSON_TYPE), 'larger than 5 KiB'],
])('refuses an answer that is %s', async (_name, answer, reason) => {
  host.answer = answer();
  expect(await refusal()).toContain(reason);
  expect(host.requests).toHaveLength(1);
});

it('accepts the longest answer', async () => {
  const text = JSON.stringify(documentOf(idAt()));
  host.answer = answerOf(text.padEnd(5 * 1024), JSON_TYPE);
  expect(await refusal()).toBe('accepted');
});

it('waits three seconds in all for an answer that comes in slow bytes', async () => {
  host.answer = (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n');
    const timer = setInterval(() => socket.write(' '), 100);
    socket.once('close', () => clearInterval(timer));
  };
  expect(await refusal()).toContain('no answer within 3 s');
});

it.each([
  'https://127.0.0.1/a',
  'https://localhost/a',
  'https://10.0.0.1/a',
  'https://169.254.169.254/a',
  'https://[::1]/a',
  'https://[::ffff:a00:1]/a',
  'https://[fe80::1]/a',
  'https://[64:ff9b::a00:1]/a',
  'https://8.8.8.8:8443/a',
  'http://8.8.8.8/a',
])('asks nobody for %s in production', async (clientId) => {
  documents = new ClientDocuments({ production: true });
  expect(await refusal(clientId)).toMatch(/private network|not https at port 443/);
});

it('refuses keys at a private address', async () => {
  documents = new ClientDocuments({ production: true });
  await expect(documents.findKeys('https://169.254.169.254/keys')).rejects.toMatchObject({
    error: 'invalid_client',
  });
});

describe('keeps', () => {
  let now: number;
  beforeEach(() => {
    now = Date.now();
    jest.spyOn(Date, 'now').mockImplementation(() => now);
  });
  const pass = (seconds: number): number => (now += seconds * 1000);
  /** How many requests there are after another call. */
  const requests = async (): Promise<number> => {
    await refusal();
    return host.requests.length;
  };

  it.each<[string | undefined, number]>([
    [undefined, 300],
    ['no-store', 300],
    ['max-age=10', 300],
    ['public, max-age=600', 600],
    ['max-age=9999999', 86_400],
  ])('a document with Cache-Control: %s for %i s', async (control, seconds) => {
    serve({}, [...JSON_TYPE, ...(control === undefined ? [] : [`Cache-Control: ${control}`])]);
    expect(await requests()).toBe(1);
    pass(seconds - 1);
    expect(await requests()).toBe(1);
    pass(2);
    expect(await requests()).toBe(2);
  });

  it('a failure for a minute', async () => {
    host.answer = answerOf('', [], '500 Internal Server Error');
    expect(await requests()).toBe(1);
    pass(59);
    expect(await requests()).toBe(1);
    pass(2);
    serve();
    expect(await refusal()).toBe('accepted');
  });

  it('keys for a day, while there are no newer ones', async () => {
    const more = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: idAt('/keys') };
    const jwks = answerOf('{"keys":[{"kty":"EC"}]}', JSON_TYPE);
    serve(more);
    const documentAt = host.answer;
    host.answer = (...call) => (call[1].startsWith('GET /keys') ? jwks : documentAt)(...call);
    await documents.findRecentKeys(idAt());
    host.answer = answerOf('', [], '500 Internal Server Error');
    pass(86_000);
    await expect(documents.findRecentKeys(idAt())).resolves.toMatchObject({
      content: { keys: [{ kty: 'EC' }] },
    });
    await expect(documents.findKeys(idAt('/keys'))).rejects.toThrow('invalid_client');
    await expect(documents.find(idAt())).rejects.toThrow('invalid_client');
    pass(401);
    await expect(documents.findRecentKeys(idAt())).rejects.toThrow('invalid_client');
  });

  it('a thousand documents, however many are named', async () => {
    const idOf = (i: number): string => `https://localhost:${i}/a`; // refused without a request
    documents = new ClientDocuments({ production: true });
    for (let i = 1; i <= 10_000; i++) await refusal(idOf(i));
    expect((documents as unknown as { cached: Map<string, unknown> }).cached.size).toBe(1000);
  });
});

it('does not take a document for keys, and lets nobody break the document of another program', async () => {
  serve();
  await expect(documents.findKeys(idAt())).rejects.toThrow('invalid_client');
  expect(await refusal()).toBe('accepted');
  await expect(documents.findKeys(idAt())).rejects.toThrow('invalid_client');
});

it('asks a host that is down once a minute for each document', async () => {
  host.answer = (socket) => void socket.destroy();
  for (let i = 0; i < 20; i++) expect(await refusal()).toMatch(/^invalid_client/);
  expect(host.sockets).toHaveLength(1);
});

it('fetches a document once for all who ask at the same time', async () => {
  serve();
  await Promise.all(Array.from({ length: 10 }, () => documents.find(idAt())));
  expect(host.requests).toHaveLength(1);
});

it('fetches four documents of a host at a time, and twenty in all', async () => {
  const others = await Promise.all(Array.from({ length: 4 }, () => RawProvider.start()));
  try {
    for (const one of [host, ...others]) one.answer = () => undefined;
    const waiting = [host, ...others].flatMap(({ url }) =>
      Array.from({ length: 5 }, (_, i) =>
        documents.find(`${url}/${i}`).catch(({ status, error }) => `${String(status)} ${String(error)}`),
      ),
    );
    await new Promise(setImmediate); // a refusal comes at once
    const settled = await Promise.all(waiting.map((one) => Promise.race([one, Promise.resolve(undefined)])));
    const refused = settled.filter((one) => one !== undefined);
    expect(refused).toEqual(Array(5).fill('503 server_error'));
    const sixth = await RawProvider.start();
    others.push(sixth);
    await expect(documents.find(`${sixth.url}/a`)).rejects.toMatchObject({
      status: 503,
      headers: { 'Retry-After': '3' },
    });
    expect(sixth.sockets).toEqual([]);
  } finally {
    await Promise.all(others.map((one) => one.close()));
  }
});
