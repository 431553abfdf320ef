import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { Events, type DomainEvents } from '../src/events.js';
import { startTestService, type TestService } from './support/service.js';

/**
 * JSON is read in two ways: our own for the common case, and body-parser's for the rest (http/plain-body.ts). Everything here is
 * sent in both, as bytes on a socket, and what comes back must be one. http/read-body.spec.ts compares values.
 */
describe('a body in the plain way, and in the way of body-parser', () => {
  const PLAIN = 'application/json';
  const FULL = 'application/json; charset=utf-8';
  const ANY_LENGTH = '\0'; // where the length of the body goes

  let service: TestService;

  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service?.close());

  type Send = (bytes: Buffer, write: (piece: Buffer) => void) => Promise<void> | void;
  const atOnce: Send = (bytes, write) => write(bytes);
  const byteByByte: Send = async (bytes, write) => {
    for (const byte of bytes) {
      write(Buffer.of(byte));
      await turn();
    }
  };

  /** What a connection says until it is closed, without what differs in every answer. */
  async function exchange(bytes: Buffer, send: Send = atOnce, hangUp = false): Promise<string> {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1').setNoDelay();
    let answer = '';
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.on('data', (chunk) => (answer += chunk.toString()));
    socket.on('error', () => undefined);
    await send(bytes, (piece) => void socket.write(piece));
    if (hangUp) socket.destroySoon();
    await closed;
    return answer.replaceAll(/^(Date|X-Request-Id): .*$/gm, '$1');
  }

  function post(
    type: string,
    body: string | Buffer,
    { path = '/oauth2/refresh', method = 'POST', headers = 'Connection: close', length = ANY_LENGTH } = {},
  ): Buffer {
    const bytes = Buffer.from(body);
    const head = `${method} ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n${headers}\r\n\r\n`;
    return Buffer.concat([Buffer.from(head.replace(ANY_LENGTH, String(bytes.length))), bytes]);
  }

  async function expectSame(make: (type: string) => Buffer, send?: Send): Promise<string> {
    const [plain, full] = await Promise.all([exchange(make(PLAIN), send), exchange(make(FULL), send)]);
    expect(plain).toBe(full);
    return plain;
  }

  const token = 'a-refresh-token-of-nobody';
  const good = JSON.stringify({ refresh_token: token });
  const BODIES: [string, string | Buffer, number][] = [
    ['a good one', good, 401],
    ['members that are not known', JSON.stringify({ refresh_token: token, é: '😀', a: { b: [1] } }), 401],
    ['a byte order mark', `\ufeff${good}`, 401],
    ['blanks around it', ` \r\n\t${good}\n`, 401],
    [
      'bytes that are no UTF-8, in another member',
      Buffer.from(`{"a":"\xff","refresh_token":"x"}`, 'latin1'),
      401,
    ],
    ['no member', '{}', 400],
    ['a byte order mark alone', '\ufeff', 400],
    ['blanks alone', '  ', 400],
    ['an array', `[${good}]`, 400],
    ['a text', '"a"', 400],
    ['null', 'null', 400],
    ['half of it', good.slice(0, -2), 400],
    ['something behind it', `${good}x`, 400],
    ['a member that comes twice', '{"refresh_token":"a","refresh_token":"a"}', 400],
    ['the same, with an escape', '{"refresh_token":"a","refresh\\u005ftoken":"a"}', 400],
    ['twice, and half of it', '{"refresh_token":"a","refresh_token":"a"', 400],
    ['deep', `{"refresh_token":"a","b":${'['.repeat(101)}${']'.repeat(101)}}`, 400],
    ['not too deep', `{"refresh_token":"a","b":${'['.repeat(100)}${']'.repeat(100)}}`, 401],
    ['`__proto__`', '{"__proto__":{"refresh_token":"a"}}', 400],
    ['a lone surrogate', '{"refresh_token":"\\ud800"}', 400],
    ['a number for a text', '{"refresh_token":1}', 400],
    ['64 KiB', JSON.stringify({ refresh_token: 'x'.repeat(65_516) }), 401],
    ['64 KiB and a byte', JSON.stringify({ refresh_token: 'x'.repeat(65_517) }), 413],
  ];

  it.each(BODIES)('%s', async (_name, body, status) => {
    expect(await expectSame((type) => post(type, body))).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it.each(BODIES.filter(([, body]) => body.length < 300))('%s, byte by byte', async (_name, body, status) => {
    const answer = await expectSame((type) => post(type, body), byteByByte);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it.each<[string, string, Parameters<typeof post>[2], number]>([
    ['a path that is not there', '{', { path: '/nothing' }, 404],
    ['a method that is not there', '{', { method: 'PUT' }, 405],
    ['a method without a body that has one', good, { method: 'GET', path: '/health/live' }, 200],
    ['the same, malformed', '{', { method: 'GET', path: '/health/live' }, 400],
    ['HEAD with one', '{', { method: 'HEAD', path: '/health/live' }, 400],
    ['a route that needs a token: the body is judged first', '{', { path: '/sign-out' }, 400],
    ['a route that needs a token', '{}', { path: '/sign-out' }, 401],
    ['zeros before the length', good, { length: `00${good.length}` }, 401],
    ['a length of zeros', '', { length: '00' }, 400],
    ['no length', '', { length: '' }, 400],
    ['a length that is no number', good, { length: '1e2' }, 400],
    ['two lengths', good, { headers: `Content-Length: ${good.length}\r\nConnection: close` }, 400],
    ['chunks', `${good.length.toString(16)}\r\n${good}\r\n0\r\n\r\n`, { length: '\b' }, 400],
    ['no coding', good, { headers: 'Content-Encoding: identity\r\nConnection: close' }, 401],
    ['an unknown coding', good, { headers: 'Content-Encoding: zip\r\nConnection: close' }, 400],
    ['gzip that is none', good, { headers: 'Content-Encoding: gzip\r\nConnection: close' }, 400],
    ['another origin', good, { headers: 'Origin: http://localhost:1\r\nConnection: close' }, 401],
  ])('%s', async (_name, body, options, status) => {
    const answer = await expectSame((type) => post(type, body, options));
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it('waits for the 100 of HTTP', async () => {
    const headers = 'Expect: 100-continue\r\nConnection: close';
    const answer = await expectSame((type) => post(type, good, { headers }));
    expect(answer).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 401 /);
  });

  it('requests that come at once, good and bad ones, are answered in order', async () => {
    const bodies = [good, '{', '{}', good, '{"a":1,"a":1}', `\ufeff${good}`];
    const answer = await expectSame((type) =>
      Buffer.concat([
        ...bodies.map((body) => post(type, body, { headers: 'X: y' })),
        post(type, good), // closes
      ]),
    );
    expect(answer.match(/(?<=HTTP\/1.1 )\d+/g)).toEqual(['401', '400', '400', '401', '400', '401', '401']);
  });

  it('what follows a body that is longer than it says is no request', async () => {
    const length = String(good.length - 1);
    const answer = await expectSame((type) => post(type, good, { length, headers: 'X: y' }));
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
  });

  it.each([
    ['in the body', good.slice(0, 5)],
    ['before it', ''],
  ])('a connection that ends %s is told of in the same way', async (_name, sent) => {
    const ended = async (type: string): Promise<object> => {
      const events = service.app.get(Events);
      const [[request]] = await Promise.all([
        once(events, 'request.ended') as Promise<DomainEvents['request.ended']>,
        exchange(post(type, sent, { length: '99', headers: 'X: y' }), atOnce, true),
      ]);
      return { ...request, seconds: undefined };
    };
    const plain = await ended(PLAIN);
    expect(plain).toEqual(await ended(FULL));
    expect(plain).toMatchObject({ route: '/oauth2/refresh', status: 400 });
  });
});
