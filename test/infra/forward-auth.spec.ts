import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { query } from '../support/database.js';
import { Endings } from '../support/endings.js';
import { isInstalled, needs } from '../support/installed.js';
import { startTestService, type TestService } from '../support/service.js';
import { bearer, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/waiting.js';
import {
  FORWARD_AUTH_PROXIES,
  startForwardAuth,
  type ForwardAuthProxy,
  type RunningProxy,
} from './forward-auth-proxies.js';

const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';

interface Reached {
  readonly method: string;
  readonly path: string;
  /** As they came: name, value, name, value, … */
  readonly headers: readonly string[];
}

/** Names that a server may read as one of Latchkey's: CGI, WSGI and PHP read any other sign as `_`. */
const OURS = /^x[^a-z0-9]latchkey[^a-z0-9](user|session|device|username|email|roles|groups|claims)$/i;

/** What an API behind the proxy takes for the identity: name, value. Headers without a value are as if absent. */
function identity({ headers }: Reached): string[] {
  const pairs: string[] = [];
  for (let i = 0; i < headers.length; i += 2)
    if (OURS.test(headers[i]!) && headers[i + 1] !== '')
      pairs.push(`${headers[i]!.toLowerCase()}: ${headers[i + 1]}`);
  return pairs.toSorted();
}

/** Header lines that a client sends beside its token. */
const SPOOFED: Readonly<Record<string, readonly string[]>> = {
  'the name as it is': ['X-Latchkey-User: root', 'X-Latchkey-Roles: admin'],
  'other cases': ['x-latchkey-user: root', 'X-LATCHKEY-ROLES: admin', 'x-LatchKey-groups: admin'],
  'each name twice': [
    'X-Latchkey-User: root',
    'X-Latchkey-User: root',
    'X-Latchkey-Roles: admin',
    'X-Latchkey-Roles: admin',
  ],
  'a header that the service sends empty (GHSA-7r4p-vjf4-gxv4)': [
    'X-Latchkey-Groups: admin',
    'X-Latchkey-Claims: e30',
    'X-Latchkey-Device: d',
    'X-Latchkey-Username: root',
  ],
  'underscores (CVE-2025-64484)': [
    'X_Latchkey_User: root',
    'x_latchkey_roles: admin',
    'X-Latchkey_Groups: admin',
    'X_LATCHKEY-USER: root',
  ],
  'other signs': [
    'X.Latchkey.User: root',
    'X~Latchkey~Roles: admin',
    'X!Latchkey-Groups: admin',
    'X-Latchkey.User: root',
  ],
  'Connection, which removes headers (CVE-2025-48865)': [
    'Connection: close, X-Latchkey-User, X-Latchkey-Session, X-Latchkey-Roles, Authorization',
  ],
  'the proxy as its own client': [
    'X-Forwarded-User: root',
    'X-Forwarded-Uri: /health',
    'X-Original-URL: /health',
    'Forwarded: for=127.0.0.1',
  ],
  'names in the trailer': ['Transfer-Encoding: chunked', 'Trailer: X-Latchkey-User'],
};

/** `Authorization` lines that must not pass, or none. `ended` stands for the token of a session that has ended. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  'no token': [],
  'an ended token': ['Authorization: Bearer ended'],
  'a malformed token': ['Authorization: Bearer a.b.c'],
  'no token after the scheme': ['Authorization: Bearer '],
  'another scheme': ['Authorization: Basic cm9vdDpyb290'],
  'two tokens in one header': ['Authorization: Bearer ended, Bearer good'],
  'a malformed cookie (CVE-2026-25748)': ['Cookie: latchkey="%00;;=; __Host-latchkey=\\x'],
  'the path of a route without a user (CVE-2026-40575)': [
    'X-Forwarded-Uri: /health',
    'X-Original-URL: /health',
    'X-Rewrite-URL: /health',
    'X-Forwarded-Path: /health',
  ],
  'the method of a preflight': [
    'X-Forwarded-Method: OPTIONS',
    'X-HTTP-Method-Override: OPTIONS',
    'Origin: http://localhost:1',
    'Access-Control-Request-Method: GET',
  ],
  'an identity in place of a token': [
    'X-Latchkey-User: root',
    'X_Latchkey_User: root',
    'X-Forwarded-User: root',
  ],
};

describe.each(FORWARD_AUTH_PROXIES)('%s before an API', (kind: ForwardAuthProxy) => {
  needs({ [kind]: isInstalled(kind) }).describe('with its configuration in deploy/forward-auth/', () => {
    const endings = new Endings();
    let service: TestService;
    let tokens: Tokens;
    let ended: string;
    let proxy: RunningProxy;
    let network: TcpProxy;
    let api: Server;
    let reached: Reached[] = [];

    beforeAll(async () => {
      const provider = endings.after(await StubProvider.start(), (one) => one.close());
      provider.claims.set('ada', { roles: ['editor'], email: 'ada@example.com' });
      service = endings.after(
        await startTestService({ ...provider.env(), SERVICE_KEYS: SERVICE_KEY }),
        (one) => one.close(),
      );
      tokens = await signIn(service.url, 'ada');
      ended = (await signIn(service.url, 'bob')).access_token;
      await bearer(service.url, ended).post('/sign-out').expect(204);
      const note = ({ method, url, rawHeaders: headers }: IncomingMessage): void =>
        void reached.push({ method: method!, path: url!, headers });
      api = createServer((request, response) => {
        request.resume().on('end', () => {
          note(request);
          response.end('the API');
        });
      }).listen(0, '127.0.0.1');
      api.on('upgrade', (request, stream: Socket) => {
        note(request);
        const { upgrade } = request.headers;
        stream.on('error', () => undefined).on('end', () => stream.destroy());
        stream.write(
          `HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${upgrade}\r\nConnection: Upgrade\r\n\r\n`,
        );
        stream.pipe(stream);
      });
      endings.after(api, (one) => one.close());
      network = endings.after(await TcpProxy.before(service.url.replace('localhost', '127.0.0.1')), (one) =>
        one.refuse(),
      );
      const behind = {
        latchkey: `127.0.0.1:${network.port}`,
        api: `127.0.0.1:${(api.address() as AddressInfo).port}`,
      };
      proxy = endings.after(await startForwardAuth(kind, behind), (one) => one.stop());
      await until(async () => (await send('/', [`Authorization: Bearer ${tokens.access_token}`])) === 200);
    });
    afterAll(() => endings.run());
    beforeEach(() => void (reached = []));

    /** Sends a request as it is written. @returns the status */
    function send(path: string, lines: readonly string[], method = 'GET', text = ''): Promise<number> {
      const isChunked = lines.includes('Transfer-Encoding: chunked');
      const body = isChunked ? '2\r\nhi\r\n0\r\nX-Latchkey-User: root\r\n\r\n' : text;
      const head = [`${method} ${path} HTTP/1.1`, 'Host: api.example', ...lines];
      if (!lines.some((line) => line.startsWith('Connection'))) head.push('Connection: close');
      return new Promise((resolve, reject) => {
        const socket = connect(proxy.port, '127.0.0.1');
        let answer = '';
        socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
        // Not `100 Continue`, which may come before it.
        socket.on('end', () => resolve(Number(/HTTP\/1\.1 ([2-5]\d{2}) /.exec(answer)?.[1])));
        socket.on('error', reject);
        socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
      });
    }

    const mine = (): string[] =>
      [
        `x-latchkey-user: ${tokens.user_id}`,
        `x-latchkey-session: ${String(claimsOf(tokens.access_token)['sid'])}`,
        'x-latchkey-username: Ada',
        'x-latchkey-email: ada@example.com',
        'x-latchkey-roles: editor',
      ].toSorted();

    it('the API gets the user', async () => {
      expect(await send('/orders?page=2&role=admin', [`Authorization: Bearer ${tokens.access_token}`])).toBe(
        200,
      );
      expect(reached.map(({ path }) => path)).toEqual(['/orders?page=2&role=admin']);
      expect(identity(reached[0]!)).toEqual(mine());
    });

    it.each(Object.entries(SPOOFED))('own headers of a client: %s', async (_name, lines) => {
      const method = lines.some((line) => line.startsWith('Transfer')) ? 'POST' : 'GET';
      const status = await send(
        '/orders',
        [`Authorization: Bearer ${tokens.access_token}`, ...lines],
        method,
      );
      // Refusing such a request is as good.
      expect({ status, identities: reached.map(identity) }).toEqual(
        status === 200 ? { status, identities: [mine()] } : { status: expect.any(Number), identities: [] },
      );
      expect([200, 400, 401]).toContain(status);
    });

    it.each(Object.entries(SPOOFED))('on a route without a user: %s', async (_name, lines) => {
      const method = lines.some((line) => line.startsWith('Transfer')) ? 'POST' : 'GET';
      const status = await send('/health', lines, method);
      expect({ status, identities: reached.map(identity) }).toEqual(
        status === 200 ? { status, identities: [[]] } : { status: 400, identities: [] },
      );
    });

    it.each(Object.entries(REFUSED))('no request with %s', async (_name, lines) => {
      const own = lines.map((line) => line.replace('ended', ended).replace('good', tokens.access_token));
      const statuses: number[] = [];
      for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE', 'PROPFIND'])
        statuses.push(await send('/orders', own, method));
      expect({ statuses, reached }).toEqual({ statuses: [401, 401, 401, 401, 401, 401], reached: [] });
    });

    it('a role is needed where the configuration says so', async () => {
      const chief = await signIn(service.url, 'chief');
      const authorization = (of: Tokens): string[] => [`Authorization: Bearer ${of.access_token}`];
      expect([
        await send('/admin/x', authorization(tokens)),
        await send('/admin/x', authorization(chief)),
      ]).toEqual([403, 403]);
      expect(reached).toEqual([]);
      await bearer(service.url, SERVICE_KEY)
        .put(`/users/${chief.user_id}/claims`, { claims: { roles: ['admin'] } })
        .expect(200);
      expect(await send('/admin/x', authorization(chief))).toBe(200);
      expect([
        await send('/admin/x', []),
        await send('/admin/x', [`Authorization: Bearer ${ended}`]),
      ]).toEqual([401, 401]);
    });

    if (kind === 'nginx') {
      it('the locations that ask are not for clients', async () => {
        const good = [`Authorization: Bearer ${tokens.access_token}`];
        expect([await send('/_latchkey', good), await send('/_latchkey_admin', good)]).toEqual([404, 404]);
        expect(reached).toEqual([]);
      });
    }

    describe('a body of one person, then a request of another one', () => {
      /** Ada's request. The proxy's question has no body. */
      const sendBody = (length: number, ...lines: string[]): Promise<number> => {
        const all = [`Authorization: Bearer ${tokens.access_token}`, `Content-Length: ${length}`, ...lines];
        return send('/orders', all, 'POST', 'x'.repeat(length));
      };

      it.each([
        ['small', 57, []],
        ['larger than a packet', 100_000, []],
        ['announced (Expect)', 57, ['Expect: 100-continue']],
        ['with hop-by-hop headers', 57, ['TE: trailers', 'Keep-Alive: timeout=5', 'Connection: close, TE']],
        ['with an upgrade', 57, ['Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA']],
      ])('%s: each gets an own answer', async (_what, length, lines) => {
        const bob = await signIn(service.url, 'bob');
        for (let i = 0; i < 5; i++) {
          expect(await sendBody(length, ...lines)).toBe(200);
          expect(await send('/orders', [`Authorization: Bearer ${bob.access_token}`])).toBe(200);
          expect(await send('/orders', [])).toBe(401);
        }
        const users = reached.map((one) => identity(one).find((line) => line.includes('-user: ')));
        expect(users).toEqual(
          Array(5)
            .fill([tokens, bob].map(({ user_id }) => `x-latchkey-user: ${user_id}`))
            .flat(),
        );
      });

      it('chunked: each gets an own answer', async () => {
        const good = [`Authorization: Bearer ${tokens.access_token}`, 'Transfer-Encoding: chunked'];
        for (let i = 0; i < 5; i++) {
          expect(await send('/orders', good, 'POST')).toBe(200);
          expect(await send('/orders', [])).toBe(401);
        }
      });

      it('a request in the Authorization header does not open /admin/, whatever the length', async () => {
        const hidden = ['Authorization: GET /health/live HTTP/1.0'];
        for (let length = 60; length <= 120; length++) {
          await sendBody(length);
          expect([length, await send('/admin/x', hidden)]).toEqual([length, 401]);
        }
        expect(reached.filter(({ path }) => path.startsWith('/admin/'))).toEqual([]);
      });
    });

    describe('an upgrade', () => {
      /** @returns the status, and what came after a line was sent behind the head */
      async function upgrade(protocol: string, ...lines: readonly string[]): Promise<[number, string]> {
        const socket = connect(proxy.port, '127.0.0.1').setEncoding('latin1');
        let text = '';
        socket.on('error', () => undefined).on('data', (chunk: string) => (text += chunk));
        const head = ['GET /live HTTP/1.1', 'Host: api.example', `Upgrade: ${protocol}`, ...lines];
        socket.write(`${[...head, 'Connection: Upgrade'].join('\r\n')}\r\n\r\n`);
        await until(() => text.includes('\r\n\r\n'));
        const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)![1]);
        if (status === 101) {
          socket.write('over the socket');
          await until(() => text.endsWith('over the socket'));
        }
        socket.destroy();
        return [status, text.split('\r\n\r\n')[1]!];
      }
      const KEY = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];

      it('to a WebSocket passes with a token, in any case, and the API gets the user', async () => {
        const good = `Authorization: Bearer ${tokens.access_token}`;
        for (const protocol of ['websocket', 'WebSocket'])
          expect(await upgrade(protocol, good, 'X-Latchkey-User: root', ...KEY)).toEqual([
            101,
            'over the socket',
          ]);
        expect(reached.map(identity)).toEqual([mine(), mine()]);
      });

      it('to a WebSocket does not pass without a token, or with one that has ended', async () => {
        expect((await upgrade('websocket', ...KEY))[0]).toBe(401);
        expect((await upgrade('websocket', `Authorization: Bearer ${ended}`, ...KEY))[0]).toBe(401);
        expect(reached).toEqual([]);
      });

      // Traefik passes all on (docs/forward-auth.md#attacks).
      if (kind !== 'traefik') {
        it('to another protocol is not passed on, not even beside', async () => {
          const good = `Authorization: Bearer ${tokens.access_token}`;
          const settings = 'HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA';
          for (const protocol of ['h2c', 'h2c, websocket', 'websocket/13, h2c', 'foo']) {
            const [status] = await upgrade(protocol, good, settings);
            expect([protocol, status]).toEqual([protocol, 200]);
          }
          await upgrade('websocket', 'Upgrade: h2c', good, ...KEY);
          const offered = reached.flatMap(({ headers }) =>
            headers.filter((_, i) => i % 2 === 1 && /^upgrade$/i.test(headers[i - 1]!)),
          );
          expect(offered.filter((value) => value !== 'websocket')).toEqual([]);
        });
      }
    });

    it('nothing passes while the database fails, or the service is slow or away', async () => {
      const statuses: Record<string, number> = {};
      const good = [`Authorization: Bearer ${tokens.access_token}`];
      await query(service.databaseUrl, 'ALTER TABLE access_tokens RENAME TO away');
      statuses['database'] = await send('/orders', good);
      await query(service.databaseUrl, 'ALTER TABLE away RENAME TO access_tokens');
      network.blackhole();
      statuses['slow'] = await send('/orders', good);
      await network.refuse();
      statuses['away'] = await send('/orders', good);
      await network.restore();
      expect(reached).toEqual([]);
      expect(Object.entries(statuses).filter(([, status]) => status < 500 || status > 599)).toEqual([]);
      await until(async () => (await send('/orders', good)) === 200);
    });
  });
});
