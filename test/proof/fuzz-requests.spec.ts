import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { bearer } from '../support/bearer.js';
import { startTestService, type TestService } from '../support/service.js';
import { claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { Caller } from './fuzz/caller.js';
import { formValues } from './fuzz/form-reference.js';
import { fuzz, type Verdict } from './fuzz/fuzz.js';
import { boundaryNumber, mutatedBytes, mutatedText } from './fuzz/mutate.js';
import type { Random } from './fuzz/random.js';
import { answersIn, exchange } from './fuzz/raw-http.js';
import { listAllows } from './fuzz/redirect-reference.js';

const SERVICE_KEY = 'a-service-key-of-thirty-two-characters';
const MARK = 'zqxjmark';
const LIST = ['https://app.example/cb', 'http://localhost/cb?a=b'];
const HEADERS = [
  'Content-Length: 0',
  'Content-Length: 999',
  'Content-Length: -1',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip',
  'Expect: 100-continue',
  'Expect: x',
  'Upgrade: h2c',
  'Connection: Upgrade',
  'Host:',
  'Content-Encoding: gzip',
  'Content-Type: application/json',
  `DPoP: ${MARK}`,
  `Origin: https://${MARK}.example`,
  'X-Forwarded-For: 1',
  `Authorization: Bearer ${MARK}`,
  'Accept: text/html',
  `Cookie: ${MARK}`,
  `X-A: ${'a'.repeat(20_000)}`,
];
const WORDS = [
  ...HEADERS.map((header) => `${header}\r\n`),
  '\r\n',
  '\n',
  '\r',
  ' ',
  '\t',
  ':',
  'HTTP/1.0',
  'HTTP/2',
  'GET',
  'PUT',
  'CONNECT',
  'TRACE',
  '/',
  '//',
  '/..',
  '?',
  '%00',
  '%2f',
  '\0',
  'http://evil.test/',
];
const QUERY_WORDS = [
  '&',
  '=',
  'provider=stub',
  'provider=mock',
  '&redirect_uri=',
  'redirect_uri=https%3A%2F%2Fevil.test',
  '%26',
  '%3D',
  '[]=',
  ']=',
  '+',
  '%',
  '%FF',
  '%00',
  ';',
  '#',
  '?',
  'response_type=code',
  '@evil.test',
  '%40',
  '%5C',
  '&&&&',
];

describe('requests of strangers', () => {
  let provider: StubProvider;
  let service: TestService;
  let caller: Caller;
  let issued: Tokens;

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService({
      ...provider.env(),
      SERVICE_KEYS: SERVICE_KEY,
      REDIRECT_URIS: LIST.join(','),
      DEMO_ENABLED: 'false',
    });
    caller = new Caller(service.url);
    issued = await signIn(service.url);
  });
  afterAll(async () => {
    caller?.close();
    await service?.close();
    await provider?.close();
  });

  /** Whole requests, on a connection of their own. */
  function request(random: Random): Buffer {
    const body = `{"refresh_token":"${random.chance(0.5) ? issued.refresh_token : MARK}"}`;
    const length = `Content-Length: ${body.length}\r\n`;
    const seeds = [
      `POST /oauth2/refresh HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${length}\r\n${body}`,
      `POST /oauth2/refresh HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      `GET /me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${issued.access_token}\r\n\r\n`,
      `OPTIONS /oauth2/token HTTP/1.1\r\nHost: x\r\nOrigin: http://localhost:5173\r\nAccess-Control-Request-Method: POST\r\n\r\n`,
      `GET /oauth2/authorize?provider=stub HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\nGET /.well-known/jwks.json HTTP/1.1\r\nHost: x\r\n\r\n`,
      `POST /oauth2/introspect HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${Buffer.from(`a:${SERVICE_KEY}`).toString('base64')}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n\r\ntoken=x`,
    ];
    const seed = random.pick(seeds);
    const text = random.chance(0.6)
      ? seed.replace('\r\n', `\r\n${random.pick(HEADERS)}\r\n`)
      : mutatedText(random, seed, WORDS);
    return random.chance(0.3) ? mutatedBytes(random, Buffer.from(text)) : Buffer.from(text);
  }

  it('are answered in HTTP, never with 5xx, and never echoed', async () => {
    await fuzz({
      name: 'requests, bytes',
      short: 100,
      full: 15_000,
      atOnce: 4,
      generate: request,
      async judge(bytes): Promise<Verdict> {
        const answered = await exchange(service.url, bytes);
        if (bytes.toString('latin1').startsWith('HEAD ')) return 'refused'; // lengths without bodies
        const answers = answersIn(answered.replaceAll('HTTP/1.1 100 Continue\r\n\r\n', ''));
        for (const { status, head, body } of answers) {
          if (status >= 500) throw new Error(`answered with ${status} ${body}`);
          if (status >= 400 && !/^content-type: text\/html/im.test(head))
            expect(Object.keys(JSON.parse(body) as object)).toEqual(['error', 'error_description']);
          if ((head + body).includes(MARK)) throw new Error('what was sent is echoed');
        }
        return answers.some(({ status }) => status < 300) ? 'accepted' : 'refused';
      },
    });
  });

  it('of a browser lead only where the list says', async () => {
    await fuzz({
      name: 'query strings, GET /oauth2/authorize',
      short: 100,
      full: 15_000,
      atOnce: 4,
      generate(random) {
        const query = new URLSearchParams({
          provider: 'stub',
          redirect_uri: random.pick([...LIST, 'http://localhost:9/cb?a=b', 'https://evil.test/cb']),
        }).toString();
        const changed = random.chance(0.1) ? query : mutatedText(random, query, QUERY_WORDS);
        return changed.replaceAll(/[^!-~]|#/g, (char) => encodeURIComponent(char.toWellFormed()));
      },
      async judge(query): Promise<Verdict> {
        const { status, body } = await caller.call('GET', `/oauth2/authorize?${query}`);
        if (status !== 200) return 'refused';
        const to = new URL(body['redirect_url'] as string);
        const [given, ...more] = formValues(query, 'redirect_uri');
        const expected = given === '' ? undefined : given;
        if (more.length > 0 || formValues(query, 'provider').length !== 1)
          throw new Error('what comes twice was accepted');
        const own = `http://localhost:${service.settings.port}/providers/mock`;
        const issuer = formValues(query, 'provider')[0] === 'mock' ? own : provider.url;
        expect(`${to.origin}${to.pathname}`).toBe(`${issuer}/oauth2/authorize`);
        const sent = to.searchParams.get('redirect_uri')!;
        expect([sent, listAllows(LIST, sent)]).toEqual([expected ?? LIST[0], true]);
        return 'accepted';
      },
    });
  });

  it('with an Idempotency-Key are done once for each key, as it was sent', async () => {
    const known = new Map<string, unknown>();
    await fuzz({
      name: 'Idempotency-Key, POST /push',
      short: 50,
      full: 8000,
      generate: (random) =>
        (random.chance(0.3)
          ? random.pick(['a', 'b', 'A', 'a b', 'a  b', '"a"'])
          : mutatedText(random, random.pick(['a-key', 'k'.repeat(255), '\u00e9']), [
              ' ',
              ',',
              'k'.repeat(255),
              "'",
              '%61',
            ])
        ).replaceAll(/[^\t -~\u0080-\u00ff]/g, ''),
      async judge(sent): Promise<Verdict> {
        const key = sent.replaceAll(/^[\t ]+|[\t ]+$/g, ''); // RFC 9110 §5.5
        const { status, body } = await caller.call(
          'POST',
          '/push',
          {
            Authorization: `Bearer ${SERVICE_KEY}`,
            'Content-Type': 'application/json',
            'Idempotency-Key': sent,
          },
          JSON.stringify({ user_id: issued.user_id, event: 'e', ttl: 60 }),
        );
        expect(status).toBe(key.length >= 1 && key.length <= 255 ? 202 : 400);
        if (status === 400) return 'refused';
        if (known.has(key)) expect(body['id']).toBe(known.get(key));
        else expect([...known.values()]).not.toContain(body['id']);
        known.set(key, body['id']);
        return 'accepted';
      },
    });
  });

  it('with a cursor are told all that ended since, and what cannot be read as one is told everything', async () => {
    const gone = await signIn(service.url);
    await bearer(service.url, gone.access_token).post('/sign-out').expect(204);
    const ended = `"session_id":"${String(claimsOf(gone.access_token)['sid'])}"`;
    const now = Date.now();
    let told = 0;
    await fuzz({
      name: 'Last-Event-ID, GET /sessions/ended',
      short: 25,
      full: 4000,
      generate(random) {
        const [ms, xmin] = [
          random.pick([String(now + 3_600_000), String(now - 3_600_000), boundaryNumber(random)]),
          random.pick(['1', '700', boundaryNumber(random)]),
        ];
        const cursor = `${ms}-${xmin}`;
        return (random.chance(0.5) ? cursor : mutatedText(random, cursor, ['-', ' ', 'é', '%'])).replaceAll(
          /[^\t -~\u0080-\u00ff]/g,
          '',
        );
      },
      async judge(cursor): Promise<Verdict> {
        const calling = get(`${service.url}/sessions/ended`, {
          agent: false,
          headers: { Authorization: `Bearer ${SERVICE_KEY}`, 'Last-Event-ID': cursor },
        });
        const [response] = (await once(calling, 'response')) as [IncomingMessage];
        let text = '';
        for await (const chunk of response) if ((text += String(chunk)).includes('event: ready\n')) break;
        calling.destroy();
        expect(response.statusCode).toBe(200);
        if (!text.includes(ended)) throw new Error('a sign-out was left out');
        told++;
        return /^[\t ]*\d{1,15}-\d{1,18}[\t ]*$/.test(cursor) ? 'accepted' : 'refused';
      },
    });
    expect(told).toBeGreaterThan(0);
  });
});
