import { isAway } from '../../src/provider/transport/provider-answer.js';
import {
  ProviderHttp,
  type ProviderRequest,
  type ProviderResponse,
} from '../../src/provider/transport/provider-http.js';
import { answerWith, RawProvider } from '../support/raw-provider.js';
import { until } from '../support/waiting.js';
import { useEach } from '../support/use.js';

const FORM = {
  headers: { 'Content-Type': 'application/x-www-form-urlencoded', Accept: 'application/json' },
  body: 'client_secret=s3cret&code=c0de',
} as const;
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';
const JSON_BODY = '{"provider_user_id":"any"}';

/** Requests to a provider, byte for byte, and its answers (spec §4.5.2; SECURITY.md#promises, P12). */
describe('requests to a provider', () => {
  const provider = useEach(() => RawProvider.start());
  const http = useEach(
    () => new ProviderHttp(),
    (one) => one.onApplicationShutdown(),
  );

  const send = (more: Partial<ProviderRequest> = {}): Promise<ProviderResponse> =>
    http.send({
      ...FORM,
      url: `${provider.url}/oauth2/token/exchange`,
      signal: new AbortController().signal,
      ...more,
    });
  const failure = async (sent: Promise<unknown>): Promise<Error & { code?: unknown }> =>
    sent.then(
      () => Promise.reject(new Error('there was an answer')),
      (error: unknown) => error as Error,
    );

  it('are these bytes', async () => {
    await send();
    const signal = new AbortController().signal;
    const headers = { Accept: 'a/b', Authorization: 'Bearer x' };
    await http.send({ url: `${provider.url}/me?a=%20b#c`, headers, signal });
    const host = `host: 127.0.0.1:${provider.port}`;
    expect(provider.requests.map((bytes) => bytes.split('\r\n'))).toEqual([
      [
        'POST /oauth2/token/exchange HTTP/1.1',
        host,
        'connection: keep-alive',
        'Content-Type: application/x-www-form-urlencoded',
        'Accept: application/json',
        'User-Agent: Latchkey',
        'Accept-Encoding: identity',
        'content-length: 30',
        '',
        'client_secret=s3cret&code=c0de',
      ],
      [
        'GET /me?a=%20b HTTP/1.1',
        host,
        'connection: keep-alive',
        'Accept: a/b',
        'Authorization: Bearer x',
        'User-Agent: Latchkey',
        'Accept-Encoding: identity',
        '',
        '',
      ],
    ]);
  });

  const packed = (encoding: string, body: Uint8Array): Buffer =>
    Buffer.concat([
      Buffer.from(
        `HTTP/1.1 200 OK\r\nContent-Encoding: ${encoding}\r\nContent-Length: ${body.length}\r\n\r\n`,
      ),
      body,
    ]);

  it.each<[string, string | Uint8Array, string]>([
    ['of a known length', `HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\n${JSON_BODY}`, JSON_BODY],
    [
      'in chunks, with a trailer',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x=y\r\n{\r\n1\r\n}\r\n0\r\nA: b\r\n\r\n',
      '{}',
    ],
    ['after early hints', `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${OK}`, '{}'],
    [
      'with headers of 15 KiB',
      `HTTP/1.1 200 OK\r\nA: ${'x'.repeat(15_000)}\r\nContent-Length: 2\r\n\r\n{}`,
      '{}',
    ],
    ['with headers that are not ASCII', 'HTTP/1.1 200 \xe4\r\nA: \xe4\r\nContent-Length: 2\r\n\r\n{}', '{}'],
    [
      'of 64 KiB',
      `HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\n${'x'.repeat(65_536)}`,
      'x'.repeat(65_536),
    ],
    ['that calls itself uncompressed', packed('identity', Buffer.from(JSON_BODY)), JSON_BODY],
    ['of no bytes in gzip', packed('gzip', Buffer.of()), ''],
  ])('understand an answer %s', async (_name, bytes, expected) => {
    provider.answer = answerWith(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    const { status, body } = await send();
    expect([status, Buffer.from(body).toString('latin1')]).toEqual([200, expected]);
  });

  it.each<[string, string, number]>([
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n', 204],
    ['204 that calls nothing gzip', 'HTTP/1.1 204 No Content\r\nContent-Encoding: gzip\r\n\r\n', 204],
    ['307, and do not follow it', 'HTTP/1.1 307 T\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n', 307],
  ])('understand %s', async (_name, bytes, expected) => {
    provider.answer = answerWith(bytes);
    const { status, body, contentType } = await send();
    expect([status, body.length, contentType, provider.requests.length]).toEqual([expected, 0, undefined, 1]);
  });

  it.each([
    ['HTTP/1.0 200 OK\r\n\r\n{}', '{}'],
    ['HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}', '{}'],
  ])('understand an answer that ends with its connection: %j', async (bytes, expected) => {
    provider.answer = answerWith(bytes, true);
    for (let i = 0; i < 2; i++) expect(Buffer.from((await send()).body).toString()).toBe(expected);
    expect(provider.sockets).toHaveLength(2);
  });

  it('take the first of two content types', async () => {
    provider.answer = answerWith(
      'HTTP/1.1 200 OK\r\nContent-Type: a/b\r\ncontent-type: c/d\r\nContent-Length: 2\r\n\r\n{}',
    );
    expect((await send()).contentType).toBe('a/b');
  });

  it.each<[string, string | Uint8Array]>([
    ['one byte more than 64 KiB', `HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n${'x'.repeat(65_537)}`],
    [
      'that in chunks',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${`4000\r\n${'x'.repeat(16_384)}\r\n`.repeat(5)}`,
    ],
    ['an unknown encoding', packed('rot13', Buffer.from(JSON_BODY))],
    ['headers of 17 KiB', `HTTP/1.1 200 OK\r\nA: ${'x'.repeat(17_000)}\r\nContent-Length: 2\r\n\r\n{}`],
    ['no HTTP', '220 mail.example ESMTP\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} '],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    ],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n'],
  ])('refuse %s, and close the connection', async (_name, bytes) => {
    provider.answer = answerWith(bytes);
    const error = await failure(send());
    expect(isAway(error)).toBe(_name === 'another protocol');
    if (!/compressed|encoding/.test(_name)) await until(() => provider.open === 0);
    expect(provider.requests).toHaveLength(1);
  });

  it.each([
    ['before an answer', ''],
    ['in the headers', 'HTTP/1.1 200 OK\r\nContent-'],
    ['in the body', 'HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\n{'],
    ['before the last chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n'],
  ])('fail when the connection is cut off %s, and are not sent again', async (_name, bytes) => {
    for (const cut of ['end', 'resetAndDestroy'] as const) {
      provider.answer = (socket) => socket.write(bytes, () => socket[cut]());
      expect(await failure(send())).toBeInstanceOf(Error);
    }
    expect(provider.requests).toHaveLength(2);
  });

  it('go on over a new connection after an answer with something behind it', async () => {
    provider.answer = answerWith(`${OK}HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong`);
    for (let i = 0; i < 3; i++) expect(Buffer.from((await send()).body).toString()).toBe('{}');
  });
});
