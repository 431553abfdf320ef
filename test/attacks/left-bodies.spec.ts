import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { freePort } from '../support/free-port.js';
import { SERVICE_KEY } from '../support/service.js';
import { signIn } from '../support/sign-in.js';
import { prepare, useService } from '../support/use.js';

const SCIM_TOKEN = 'd'.repeat(64);
/** Requests of an attacker that a proxy takes for the body of its question. */
const HIDDEN = ['GET /health/live HTTP/1.0', 'Host: a', 'X: '].join('\r\n');

interface Answers {
  /** All that has come until the service closed the connection. */
  readonly text: string;
  readonly statuses: readonly number[];
}

/**
 * A proxy announced the length of a body and sent none. The service answered, and read the next request of the
 * connection, of another person, as that body: what came behind it was answered in its place.
 */
describe('a body that an answer leaves unread', () => {
  let metricsPort: number;
  const sockets: Socket[] = [];

  beforeAll(async () => {
    metricsPort = await freePort();
  });
  const { service } = useService(() => ({
    PROVIDERS_STUB_SCIM_TOKEN: SCIM_TOKEN,
    SERVICE_KEYS: SERVICE_KEY,
    METRICS_PORT: String(metricsPort),
    TRUST_PROXY: 'loopback',
    RATE_LIMIT: 'on',
    RATE_LIMIT_AUTHORIZE: '1000',
    RATE_LIMIT_TOKEN: '2',
    RATE_LIMIT_REFRESH: '2',
  }));
  const mine = prepare(() => signIn(service.url));
  afterEach(() => sockets.splice(0).forEach((socket) => socket.destroy()));

  function open(port = service.settings.port): Socket {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    return socket.setEncoding('latin1').on('error', () => undefined);
  }

  /** Collects what comes until the service closes. */
  async function answersOn(socket: Socket): Promise<Answers> {
    let text = '';
    socket.on('data', (chunk: string) => (text += chunk));
    await new Promise((resolve) => socket.once('close', resolve)); // also after an error
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));
    return { text, statuses };
  }

  const head = (line: string, ...lines: readonly string[]): string =>
    [`${line} HTTP/1.1`, 'Host: a', ...lines, '', ''].join('\r\n');
  const authorized = (token: string): string => `Authorization: Bearer ${token}`;
  const JSON_TYPE = 'Content-Type: application/json';
  const user = (): string => authorized(mine.access_token);
  const ID = '5e5e5e5e-5e5e-5e5e-5e5e-5e5e5e5e5e5e';

  type Kind = readonly [what: string, line: string, status: number, lines: () => readonly string[]];
  const none = (): readonly string[] => [];
  const KINDS: readonly Kind[] = [
    ['forward auth, which lets pass', 'GET /forward-auth', 200, () => [user()]],
    ['forward auth by another method and path', 'POST /forward-auth/a', 200, () => [user()]],
    ['forward auth without a role', 'GET /forward-auth?role=admin', 403, () => [user()]],
    ['forward auth without a token', 'GET /forward-auth', 401, none],
    ['forward auth with a wrong query', 'GET /forward-auth?x=1', 400, () => [user()]],
    ['a GET', 'GET /me', 200, () => [user()]],
    ['a HEAD', 'HEAD /health/live', 200, none],
    ['a public document', 'GET /.well-known/jwks.json', 200, none],
    ['a page', 'GET /docs', 200, none],
    ['a file', 'GET /docs/openapi.json', 200, none],
    ['a redirect', 'GET /oauth2/authorize', 400, none],
    ['OPTIONS', 'OPTIONS /me', 204, none],
    ['an unknown path', 'POST /nothing', 404, none],
    ['another method', 'PUT /me', 405, none],
    ['a wrong token', 'POST /push', 401, () => [authorized('made.up'), JSON_TYPE]],
    ['a missing token', `PATCH /devices/${ID}`, 401, () => [JSON_TYPE]],
    ['a DELETE', `DELETE /devices/${ID}`, 404, () => [user(), JSON_TYPE]],
    ['a wrong directory token', 'POST /scim/v2/stub/Users', 401, () => [authorized('x')]],
    ['a directory', 'GET /scim/v2/stub/Users', 200, () => [authorized(SCIM_TOKEN)]],
    ['a coding that is not read', 'POST /oauth2/refresh', 415, () => [JSON_TYPE, 'Content-Encoding: gzip']],
    ['a wrong type', 'POST /oauth2/revoke', 400, () => ['Content-Type: text/plain']],
    ['a handshake of a socket', 'POST /socket.io/?EIO=4&transport=polling&sid=x', 400, none],
    ['an event stream', 'HEAD /sessions/ended', 200, () => [authorized(SERVICE_KEY)]],
  ];

  it.each(KINDS)('%s: no request is read as the body', async (_what, line, status, lines) => {
    const next = head('GET /me', authorized('of-another-person')) + head('GET /health/live');
    for (const body of ['Content-Length: 57', 'Transfer-Encoding: chunked']) {
      const socket = open();
      const answers = answersOn(socket);
      socket.write(head(line, ...lines(), body));
      await once(socket, 'data'); // it answers without the body
      socket.write(next);
      const { text, statuses } = await answers;
      expect([line, body, statuses]).toEqual([line, body, [status]]);
      expect(text).toMatch(/^Connection: close\r$/m);
    }
  });

  it('too large: no request is read as the body, and the whole of it need not come', async () => {
    const socket = open();
    const answers = answersOn(socket);
    socket.write(head('POST /push', authorized(SERVICE_KEY), JSON_TYPE, 'Content-Length: 65537'));
    await once(socket, 'data');
    socket.write(head('GET /health/live'));
    expect((await answers).statuses).toEqual([413]);
  });

  it('beyond a limit: no request is read as the body', async () => {
    const from = 'X-Forwarded-For: 192.0.2.1';
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) {
      const socket = open();
      const answers = answersOn(socket);
      socket.write(head('POST /oauth2/refresh', from, 'Content-Type: text/plain', 'Content-Length: 57'));
      await once(socket, 'data');
      socket.write(head('GET /health/live'));
      statuses.push(...(await answers).statuses);
    }
    expect(statuses).toEqual([400, 400, 429]);
  });

  it('the port of metrics: no request is read as the body', async () => {
    for (const line of ['GET /metrics', 'POST /metrics', 'GET /nothing']) {
      const socket = open(metricsPort);
      const answers = answersOn(socket);
      socket.write(head(line, 'Content-Length: 57'));
      await once(socket, 'data');
      socket.write(head('GET /metrics'));
      expect((await answers).statuses).toHaveLength(1);
    }
  });

  it('a question hidden in a header of the next request is not answered', async () => {
    const socket = open();
    const answers = answersOn(socket);
    // as nginx asked for POST with a body: the head alone
    socket.write(head('GET /forward-auth', user(), `Content-Length: ${head('GET /x').length}`));
    await once(socket, 'data');
    socket.write(head('GET /forward-auth?role=admin', `Authorization: ${HIDDEN}`));
    expect((await answers).statuses).toEqual([200]);
  });

  it('a request behind the rest of it changes nothing', async () => {
    const { access_token: token } = await signIn(service.url, 'stays');
    const socket = open();
    const answers = answersOn(socket);
    socket.write(head('POST /nothing', 'Content-Length: 2'));
    await once(socket, 'data');
    socket.write(`{}${head('POST /sign-out', authorized(token), 'Content-Length: 0')}`);
    expect((await answers).statuses).toEqual([404]);
    const me = await fetch(`${service.url}/me`, { headers: { Authorization: `Bearer ${token}` } });
    expect(me.status).toBe(200);
  });

  it('requests before it are answered', async () => {
    const socket = open();
    const answers = answersOn(socket);
    socket.write(head('GET /me', user()) + head('POST /nothing', 'Content-Length: 57'));
    expect((await answers).statuses).toEqual([200, 404]);
  });

  it.each([
    ['Content-Length: 8000000', ''],
    ['Transfer-Encoding: chunked', '7a1200\r\n'],
  ])('a client that sends all of it first gets the answer (%s)', async (framing, before) => {
    const socket = open();
    const answers = answersOn(socket);
    socket.pause(); // reads nothing before all is sent
    socket.write(head('POST /push', authorized('made.up'), JSON_TYPE, framing) + before);
    await new Promise((resolve) => socket.write(' '.repeat(8_000_000), resolve));
    socket.resume();
    expect((await answers).statuses).toEqual([401]);
  });

  it('a client that asks first (Expect) gets the answer', async () => {
    const socket = open();
    const answers = answersOn(socket);
    socket.write(head('POST /nothing', 'Expect: 100-continue', 'Content-Length: 57'));
    expect((await answers).statuses.filter((status) => status !== 100)).toEqual([404]);
  });

  it('a client that keeps it open is disconnected', async () => {
    const socket = connect({ port: service.settings.port, host: '127.0.0.1', allowHalfOpen: true });
    sockets.push(socket);
    const answers = answersOn(socket.setEncoding('latin1'));
    socket.on('error', () => undefined);
    socket.write(head('POST /nothing', 'Content-Length: 57'));
    await once(socket, 'end');
    const drip = setInterval(() => socket.write(' '), 20); // until it is reset
    expect((await answers).statuses).toEqual([404]);
    clearInterval(drip);
  });

  it.each<[string, number, () => string]>([
    ['no body', 200, () => head('GET /me', user())],
    ['an empty body', 200, () => head('GET /me', user(), 'Content-Length: 0')],
    ['a body that is read', 400, () => `${head('POST /oauth2/revoke', JSON_TYPE, 'Content-Length: 2')}{}`],
    [
      'a small body that is not read, but has come',
      401,
      () => `${head('POST /push', authorized('made.up'), JSON_TYPE, 'Content-Length: 2')}{}`,
    ],
    [
      'a small body in chunks',
      401,
      () => `${head('POST /push', JSON_TYPE, 'Transfer-Encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`,
    ],
  ])('a connection stays after %s', async (_what, status, request) => {
    const socket = open();
    const answers = answersOn(socket);
    for (let i = 0; i < 3; i++) {
      socket.write(request());
      await once(socket, 'data');
    }
    socket.write(head('GET /health/live', 'Connection: close'));
    expect((await answers).statuses).toEqual([status, status, status, 200]);
  });
});
