import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { ProviderHttp, type ProviderRequest, type ProviderResponse } from './provider-http.js';

const VARIABLES = ['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'];
const ELSEWHERE = 'http://provider.invalid/token?a=%20b';

/** Route of a request if the environment names a proxy (contract §6). */
describe('requests to a provider', () => {
  let proxy: Server;
  let http: ProviderHttp;
  let seen: {
    url?: string | undefined;
    port?: number | undefined;
    body: string;
    type?: string | undefined;
  }[];
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  const saved = { ...process.env };

  beforeEach(async () => {
    seen = [];
    answer = (_request, response) => response.writeHead(200, { 'Content-Type': 'a/b' }).end('{"a":1}');
    proxy = createServer((request, response) => {
      let body = '';
      request.on('data', (part: Buffer) => (body += part.toString()));
      request.on('end', () => {
        const { url, headers, socket } = request;
        seen.push({ url, port: socket.remotePort, body, type: headers['content-type'] });
        answer(request, response);
      });
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    for (const name of VARIABLES)
      for (const spelled of [name, name.toUpperCase()]) delete process.env[spelled];
    process.env['http_proxy'] = at();
    http = new ProviderHttp();
  });
  afterEach(async () => {
    process.env = { ...saved };
    await http.onApplicationShutdown();
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  });

  const at = (): string => `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const send = (url: string, more: Partial<ProviderRequest> = {}): Promise<ProviderResponse> =>
    http.send({
      method: 'POST',
      url,
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'code=c%2B',
      signal: AbortSignal.timeout(5000),
      ...more,
    });
  const failure = (sent: Promise<unknown>): Promise<Error> =>
    sent.then(
      () => Promise.reject(new Error('there was an answer')),
      (error: unknown) => error as Error,
    );

  describe('through a proxy', () => {
    it('are the same as without: the form, its type, and any answer as bytes', async () => {
      const { status, contentType, body } = await send(ELSEWHERE);
      expect(seen).toMatchObject([
        { url: ELSEWHERE, body: 'code=c%2B', type: 'application/x-www-form-urlencoded' },
      ]);
      expect([status, contentType, Buffer.from(body)]).toEqual([200, 'a/b', Buffer.from('{"a":1}')]);
    });

    it.each([204, 400, 401, 500])('have an answer, whatever its status: %i', async (status) => {
      answer = (_request, response) => response.writeHead(status).end();
      expect(await send(ELSEWHERE)).toMatchObject({ status });
    });

    it('follow no redirect', async () => {
      answer = (_request, response) => response.writeHead(307, { Location: `${at()}/other` }).end();
      expect((await send(ELSEWHERE)).status).toBe(307);
      expect(seen).toHaveLength(1);
    });

    it('have answers of 64 KiB, and no larger ones', async () => {
      answer = (_request, response) => response.end('x'.repeat(65_536));
      expect((await send(ELSEWHERE)).body).toHaveLength(65_536);
      answer = (_request, response) => response.end('x'.repeat(65_537));
      expect((await failure(send(ELSEWHERE))).message).toContain('maxContentLength');
    });

    it('refuse a compressed answer', async () => {
      const head = { 'Content-Encoding': 'gzip' };
      answer = (_request, response) => response.writeHead(200, head).end(gzipSync('{}'));
      expect((await failure(send(ELSEWHERE))).message).toContain('compressed its answer');
    });

    it('go over one connection, one after the other', async () => {
      await send(ELSEWHERE);
      await new Promise((resolve) => setImmediate(resolve));
      await send(ELSEWHERE);
      expect(new Set(seen.map(({ port }) => port)).size).toBe(1);
    });
  });

  it('go to this machine without a proxy', async () => {
    await send(`${at()}/token`);
    expect(seen).toMatchObject([{ url: '/token' }]); // a proxy would see the whole address
  });

  it('go without a proxy to an address that is one of our own', async () => {
    expect(await failure(send(ELSEWHERE, { direct: true }))).toMatchObject({
      code: expect.stringMatching(/ENOTFOUND|EAI_AGAIN|ERR_CANCELED/),
    });
    expect(seen).toEqual([]);
  });

  it('go without a proxy where no variable names one', async () => {
    delete process.env['http_proxy'];
    await http.onApplicationShutdown();
    http = new ProviderHttp();
    await failure(send(ELSEWHERE));
    expect(seen).toEqual([]);
  });

  it.each([
    ['through a proxy', () => ELSEWHERE],
    ['without one', () => `${at()}/token`],
  ])('%s leave no connection when the service stops', async (_name, url) => {
    const connected = once(proxy, 'connection');
    await send(url());
    const [socket] = (await connected) as [IncomingMessage['socket']];
    expect(socket.closed).toBe(false);
    const closed = once(socket, 'close');
    const began = performance.now();
    await http.onApplicationShutdown();
    await closed;
    expect(performance.now() - began).toBeLessThan(3000); // an idle one is dropped after 4 s, without
  });

  it('need not have been made when it stops', async () => {
    await expect(http.onApplicationShutdown()).resolves.toBeUndefined();
  });
});
