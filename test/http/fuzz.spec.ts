import { once } from 'node:events';
import { WebSocket } from 'ws';
import { connect } from 'node:net';
import { Random } from '../support/random.js';
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

const PATIENCE_MS = 2000;

/**
 * Sends bytes on a connection of their own, and ends it.
 * @param patienceMs after which no more is waited for
 * @returns all that was answered, as latin1
 */
async function exchange(url: string, bytes: Buffer, patienceMs = PATIENCE_MS): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let answered = '';
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => (answered += chunk.toString('latin1')));
  socket.on('end', () => socket.destroy());
  socket.end(bytes);
  const late = setTimeout(() => socket.destroy(), patienceMs);
  if (!socket.destroyed) await once(socket, 'close');
  clearTimeout(late);
  return answered;
}

interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Takes answers apart by their own lengths. @throws where they are not HTTP, whole ones, and nothing beside */
function answersIn(answered: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let rest = answered; rest !== '';) {
    const end = rest.indexOf('\r\n\r\n');
    const head = rest.slice(0, end);
    const [, status] =
      /^HTTP\/1\.1 (\d{3}) [ -~]*\r\n(?:[A-Za-z0-9-]+: [ -~]*(?:\r\n|$))*$/.exec(`${head}\r\n`) ?? [];
    if (end < 0 || status === undefined)
      throw new Error(`no answer of HTTP: ${JSON.stringify(rest.slice(0, 300))}`);
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    const body = rest.slice(end + 4, end + 4 + length);
    answers.push({ status: Number(status), head, body });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}

/** Characters that mean something to some parser, or look as if they were others. */
const CHARACTERS = Array.from(
  '\0\t\n\r "\'\\/?#@:%[]{}()<>.,;=&+-_|^~`!$*0aAzZ\u007f\u0080\u00a0\u00ad\u00e9\u0131\u017f\u0430\u200b\u200d\u2028\u202e',
).concat(
  '\u2100',
  '\u3002',
  '\uff0e',
  '\uff0f',
  '\uff20',
  '\ufeff',
  '\ufffd',
  '\ud800',
  '\udc00',
  '\u{1f600}',
);
const NUMBERS = [
  '0',
  '-0',
  '-1',
  '1',
  '00',
  '1.5',
  '1e3',
  '1e400',
  '-1e400',
  '0x10',
  '1_000',
  '+1',
  ' 1',
  '1 ',
  '255',
  '256',
  '65535',
  '65536',
  '2147483647',
  '2147483648',
  '4294967296',
  '9007199254740991',
  '9007199254740992',
  '9223372036854775807',
  '9223372036854775808',
  '18446744073709551616',
  '9'.repeat(400),
];

type Change = (random: Random, text: string, words: readonly string[]) => string;

const CHANGES: readonly Change[] = [
  // A piece is cut out, said twice or often, put elsewhere, turned round.
  (random, text) => spliced(random, text, () => ''),
  (random, text) => spliced(random, text, (piece) => piece + piece),
  (random, text) => spliced(random, text, (piece) => piece.slice(0, 8).repeat(random.below(40))),
  (random, text) => spliced(random, text, (piece) => piece.split('').toReversed().join('')),
  (random, text) => {
    const at = random.below(text.length + 1);
    return text.slice(at) + text.slice(0, at);
  },
  (random, text) => text.slice(0, random.below(text.length + 1)),
  // A character is another one, there is one more, or it is written in another way.
  (random, text) => spliced(random, text, () => random.pick(CHARACTERS), 1),
  (random, text) => spliced(random, text, () => random.pick(CHARACTERS), 0),
  (random, text) => spliced(random, text, () => random.pick(CHARACTERS), 0),
  (random, text) => spliced(random, text, percentEncoded, 1 + random.below(3)),
  (random, text) => spliced(random, text, escaped, 1),
  (random, text) => spliced(random, text, swappedCase),
  (random, text) => spliced(random, text, (piece) => piece.normalize(random.pick(['NFC', 'NFD', 'NFKC']))),
  (random, text) => spliced(random, text, wide, 1 + random.below(3)),
  // A number is another one; a word of the grammar is put in, or another one takes its place.
  (random, text) => {
    const nth = random.below(text.match(/-?\d+/g)?.length ?? 1);
    let at = 0;
    return text.replace(/-?\d+/g, (number) => (at++ === nth ? random.pick(NUMBERS) : number));
  },
  (random, text, words) => spliced(random, text, () => random.pick(words), 0),
  (random, text, words) => spliced(random, text, () => random.pick(words)),
  (random, text, words) => {
    const [one, other] = [random.pick(words), random.pick(words)];
    return one === '' ? text : text.replace(one, () => other);
  },
];

/** A text with one to four changes. @param words of its grammar, to be put in */
function mutatedText(random: Random, text: string, words: readonly string[] = ['']): string {
  let changed = text;
  const changes = 1 + Math.floor(4 * random.next() ** 3);
  for (let i = 0; i < changes; i++) changed = random.pick(CHANGES)(random, changed, words);
  return changed;
}

/** Bytes with one to four changes, whatever they mean. */
function mutatedBytes(random: Random, bytes: Buffer): Buffer {
  let changed = Buffer.from(bytes);
  const changes = 1 + Math.floor(4 * random.next() ** 3);
  for (let i = 0; i < changes; i++) {
    const at = random.below(changed.length + 1);
    const size = random.below(Math.min(16, changed.length - at) + 1);
    const [head, piece, tail] = [
      changed.subarray(0, at),
      changed.subarray(at, at + size),
      changed.subarray(at + size),
    ];
    const kind = random.below(5);
    if (kind === 0 && changed.length > 0) changed[random.below(changed.length)]! ^= 1 << random.below(8);
    else if (kind === 1) changed = Buffer.concat([head, tail]);
    else if (kind === 2) changed = Buffer.concat([head, piece, piece, tail]);
    else if (kind === 3)
      changed = Buffer.concat([head, Buffer.from([random.pick(BYTES)]), changed.subarray(at)]);
    else changed = Buffer.concat([head, Buffer.from([random.pick(BYTES)]), changed.subarray(at + 1)]);
  }
  return changed;
}

const BYTES = [
  0, 1, 0x09, 0x0a, 0x0d, 0x20, 0x22, 0x5c, 0x7f, 0x80, 0xbf, 0xc0, 0xc3, 0xe2, 0xed, 0xf0, 0xf8, 0xfe, 0xff,
];

function spliced(random: Random, text: string, made: (piece: string) => string, length?: number): string {
  const at = random.below(text.length + 1);
  const end = at + (length ?? random.below(Math.min(24, text.length - at) + 1));
  return text.slice(0, at) + made(text.slice(at, end)) + text.slice(end);
}

function percentEncoded(piece: string): string {
  return [...Buffer.from(piece)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

function escaped(piece: string): string {
  return piece === '' ? '' : `\\u${piece.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function swappedCase(piece: string): string {
  const upper = piece.toUpperCase();
  return piece === upper ? piece.toLowerCase() : upper;
}

/** ASCII as its full-width forms, which hosts and compatibility forms take for the same. */
function wide(piece: string): string {
  return piece.replace(/[!-~]/g, (char) => String.fromCharCode(char.charCodeAt(0) + 0xfee0));
}
