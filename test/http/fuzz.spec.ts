import { once } from 'node:events';
import { WebSocket } from 'ws';
import { mutatedBytes, mutatedText } from '../support/mutate.js';
import { Random } from '../support/random.js';
import { answersIn, exchange, type RawAnswer } from '../support/raw-http.js';
import { startTestService, type TestService } from '../support/service.js';
import { beginSignIn, signIn, type Tokens } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';

const INPUTS = 150;
const JSON_WORDS = [
  '"refresh_token":null',
  '"__proto__":{}',
  '{',
  '}',
  '[',
  ',',
  ':',
  '"',
  '\\u',
  '\\ud800',
  '1e999',
];
const DEEP_WORDS = ['{"a":'.repeat(100), '['.repeat(100), ']'.repeat(100), '\ufeff'];
const FORM_WORDS = [
  '&',
  '=',
  '[]=',
  '[x]=',
  '%5B%5D',
  '%26',
  '+',
  '%',
  '%FF',
  '%00',
  ';',
  '__proto__=1',
  '&'.repeat(120),
];
const HTTP_WORDS = [
  'Content-Length: 999\r\n',
  'Content-Length: -1\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Expect: x\r\n',
  'Upgrade: h2c\r\n',
  'Content-Encoding: gzip\r\n',
  'Host:\r\n',
  'X-Forwarded-For: 1\r\n',
  '\r\n',
  'HTTP/2',
  'CONNECT',
  '%2f',
  '\0',
];
const PACKETS = [
  '2',
  '2probe',
  '41',
  '42["x",1]',
  '421["authenticate",{"token":"x"}]',
  '451-["x",{"_placeholder":true,"num":0}]',
  '40/admin,',
];

const SEED = 1;

describe('random input', () => {
  let provider: StubProvider;
  let service: TestService;
  let issued: Tokens;

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService(provider.env());
    issued = await signIn(service.url);
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });

  /** Sends a request of bytes; every answer is whole HTTP, and none is a server error. */
  async function send(bytes: Buffer): Promise<RawAnswer[]> {
    const answers = answersIn(
      (await exchange(service.url, bytes)).replaceAll('HTTP/1.1 100 Continue\r\n\r\n', ''),
    );
    for (const { status } of answers)
      if (status >= 500) throw new Error(`${status}: ${JSON.stringify(bytes.toString('latin1'))}`);
    return answers;
  }

  function post(path: string, type: string, body: Buffer): Promise<RawAnswer[]> {
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`;
    return send(Buffer.concat([Buffer.from(head), body]));
  }

  async function each(work: (random: Random) => Promise<unknown>): Promise<void> {
    for (let index = 0; index < INPUTS; index++) await work(new Random(SEED, index));
  }

  it('in JSON bodies is answered with 200, 400, 401 or 413', async () => {
    const state = await beginSignIn(service.url);
    const bodies = [
      ['/oauth2/refresh', JSON.stringify({ refresh_token: issued.refresh_token, more: [1, { a: null }] })],
      ['/oauth2/token', JSON.stringify({ code: 'ada', state, device_name: 'Ada' })],
    ] as const;
    await each(async (random) => {
      const [path, json] = random.pick(bodies);
      const text = mutatedText(random, json, [...JSON_WORDS, ...DEEP_WORDS]);
      const body = random.chance(0.2) ? mutatedBytes(random, Buffer.from(json)) : Buffer.from(text);
      for (const { status } of await post(path, 'application/json', body))
        expect([200, 400, 401, 413]).toContain(status);
    });
  });

  it('in forms is answered with 200, 400, 401 or 413', async () => {
    const form = `refresh_token=${issued.refresh_token}&more=1+2%20%C3%A9`;
    await each(async (random) => {
      const body = Buffer.from(mutatedText(random, form, FORM_WORDS));
      const answers = await post('/oauth2/refresh', 'application/x-www-form-urlencoded', body);
      for (const { status } of answers) expect([200, 400, 401, 413]).toContain(status);
    });
  });

  it('in requests is answered in HTTP, never with a server error', async () => {
    const seeds = [
      `POST /oauth2/refresh HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 21\r\n\r\n{"refresh_token":"x"}`,
      `GET /me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${issued.access_token}\r\n\r\n`,
      `OPTIONS /oauth2/token HTTP/1.1\r\nHost: x\r\nOrigin: http://localhost:5173\r\nAccess-Control-Request-Method: POST\r\n\r\n`,
      `GET /oauth2/authorize?provider=stub&redirect_uri=http%3A%2F%2Fx HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n`,
    ];
    await each(async (random) => {
      const text = mutatedText(random, random.pick(seeds), HTTP_WORDS);
      const bytes = random.chance(0.3) ? mutatedBytes(random, Buffer.from(text)) : Buffer.from(text);
      if (!bytes.toString('latin1').startsWith('HEAD ')) await send(bytes); // its answers have lengths without bodies
    });
  });

  it('in access tokens is refused', async () => {
    const { access_token: token } = issued;
    await each(async (random) => {
      const mutant = mutatedText(random, token, ['.', '=', 'e30', 'eyJhbGciOiJub25lIn0']).replaceAll(
        /[^ -~]/g,
        '',
      );
      if (mutant.trim() === token) return;
      const request = `GET /me HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${mutant}\r\n\r\n`;
      for (const { status } of await send(Buffer.from(request))) expect([400, 401, 431]).toContain(status);
    });
  });

  it('in packets of a socket ends no more than that socket', async () => {
    const packets = [...PACKETS, `40${JSON.stringify({ token: issued.access_token })}`];
    await each(async (random) => {
      const socket = new WebSocket(
        `${service.url.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket`,
      );
      await once(socket, 'open');
      socket.on('error', () => undefined);
      const text = mutatedText(random, random.pick(packets), packets);
      socket.send(random.chance(0.2) ? mutatedBytes(random, Buffer.from(text)) : text);
      const [answer] = await send(
        Buffer.from('GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'),
      );
      expect(answer!.status).toBe(200);
      socket.terminate();
    });
  });
});
