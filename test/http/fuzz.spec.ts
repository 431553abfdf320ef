import { once } from 'node:events';
import { connect } from 'node:net';
import { WebSocket } from 'ws';
import { Random } from '../support/random.js';
import { beginSignIn, signIn } from '../support/sign-in.js';
import { prepare, useService } from '../support/use.js';

const INPUTS = 60;
const SEED = 1;
const TIMEOUT_MS = 2000;

// Words of each grammar, which are put into valid input.
const JSON_WORDS = ['"__proto__":{}', ...String.raw`{ } [ , : " \ud800 1e999`.split(' '), '['.repeat(200)];
const FORM_WORDS = ['&'.repeat(120), ...'& = []= %5B%5D %26 + % %FF %00 ; __proto__=1'.split(' ')];
const PACKETS = '2 2probe 41 42["x",1] 421["authenticate",{"token":"x"}] 451-["x",{}] 40/admin,'.split(' ');
const HTTP_WORDS = [
  'Content-Length: 999\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Expect: x\r\n',
  'Upgrade: h2c\r\n',
  'Content-Encoding: gzip\r\n',
  'Host:\r\n',
  ...'\r\n HTTP/2 CONNECT %2f'.split(' '),
];
/** Characters that have a meaning in a grammar, or look like others; the last is a lone surrogate. */
const CHARACTERS = Array.from(
  '\0\t\n "\'\\/?#@:%[]{}<>.,;=&+-_0aA\u007f\u0080\u00e9\u0131\u200b\u2028\uff0e\ud800',
);
const NUMBERS = `0 -1 1.5 1e400 0x10 2147483648 9007199254740992 ${'9'.repeat(400)}`.split(' ');

describe('random input', () => {
  const { service } = useService();
  const issued = prepare(() => signIn(service.url));

  /** Sends bytes on a connection. @returns the status of each answer; each is complete HTTP, and none a server error */
  async function send(bytes: Buffer | string): Promise<number[]> {
    const statuses = statusesIn(await exchange(service.url, Buffer.from(bytes)));
    if (statuses.some((status) => status >= 500))
      throw new Error(`${statuses.join()}: ${JSON.stringify(bytes.toString('latin1'))}`);
    return statuses;
  }

  function post(path: string, type: string, body: Buffer): Promise<number[]> {
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: ${type}\r\n`;
    return send(Buffer.concat([Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n`), body]));
  }

  async function each(work: (random: Random) => Promise<unknown>): Promise<void> {
    for (let index = 0; index < INPUTS; index++) await work(new Random(SEED, index));
  }

  it('in JSON bodies and in forms is answered with 200, 400, 401 or 413', async () => {
    const state = await beginSignIn(service.url);
    const bodies = [
      ['/oauth2/refresh', JSON.stringify({ refresh_token: issued.refresh_token, more: [1, { a: null }] })],
      ['/oauth2/token', JSON.stringify({ code: 'ada', state, device_name: 'Ada' })],
    ] as const;
    const form = `refresh_token=${issued.refresh_token}&more=1+2%20%C3%A9`;
    await each(async (random) => {
      const [path, json] = random.pick(bodies);
      const statuses = [
        ...(await post(path, 'application/json', mutated(random, json, JSON_WORDS))),
        ...(await post(
          '/oauth2/refresh',
          'application/x-www-form-urlencoded',
          mutated(random, form, FORM_WORDS),
        )),
      ];
      for (const status of statuses) expect([200, 400, 401, 413]).toContain(status);
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
      const bytes = mutated(random, random.pick(seeds), HTTP_WORDS);
      if (!bytes.toString('latin1').startsWith('HEAD ')) await send(bytes); // its answers have lengths without bodies
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
      const packet = random.pick(packets);
      socket.send(
        random.chance(0.2) ? mutated(random, packet, packets) : mutatedText(random, packet, packets),
      );
      expect(await send('GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).toEqual([200]);
      socket.terminate();
    });
  });
});

/** Sends bytes on a new connection, and ends it. @returns the answers, as latin1 */
async function exchange(url: string, bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let answered = '';
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => (answered += chunk.toString('latin1')));
  socket.on('end', () => socket.destroy());
  socket.end(bytes);
  const late = setTimeout(() => socket.destroy(), TIMEOUT_MS);
  if (!socket.destroyed) await once(socket, 'close');
  clearTimeout(late);
  return answered.replaceAll('HTTP/1.1 100 Continue\r\n\r\n', '');
}

/** Splits answers by their own lengths. @throws if they are not complete HTTP */
function statusesIn(answered: string): number[] {
  const statuses: number[] = [];
  for (let rest = answered; rest !== '';) {
    const end = rest.indexOf('\r\n\r\n');
    const head = rest.slice(0, end);
    const [, status] =
      /^HTTP\/1\.1 (\d{3}) [ -~]*\r\n(?:[A-Za-z0-9-]+: [ -~]*(?:\r\n|$))*$/.exec(`${head}\r\n`) ?? [];
    if (end < 0 || status === undefined) throw new Error(`no HTTP: ${JSON.stringify(rest.slice(0, 300))}`);
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    statuses.push(Number(status));
    rest = rest.slice(end + 4 + length);
  }
  return statuses;
}

type Change = (random: Random, text: string, words: readonly string[]) => string;

const CHANGES: readonly Change[] = [
  // Part of the text is removed, repeated, reversed, or changes its case or encoding.
  (random, text) => spliced(random, text, () => ''),
  (random, text) => spliced(random, text, (piece) => piece.slice(0, 8).repeat(random.below(40))),
  (random, text) => spliced(random, text, (piece) => piece.split('').toReversed().join('')),
  (random, text) => spliced(random, text, (piece) => piece.toUpperCase()),
  (random, text) => spliced(random, text, (piece) => encodeURIComponent(piece.toWellFormed())),
  (random, text) => text.slice(0, random.below(text.length + 1)),
  // A character, a number or a word is put in or replaced.
  (random, text) => spliced(random, text, () => random.pick(CHARACTERS), random.below(2)),
  (random, text) => text.replace(/\d+/, () => random.pick(NUMBERS)),
  (random, text, words) => spliced(random, text, () => random.pick(words), 0),
  (random, text, words) => spliced(random, text, () => random.pick(words)),
];

/** Makes one to four changes. @param words of the text's grammar */
function mutatedText(random: Random, text: string, words: readonly string[]): string {
  let changed = text;
  for (let left = 1 + Math.floor(4 * random.next() ** 3); left > 0; left--)
    changed = random.pick(CHANGES)(random, changed, words);
  return changed;
}

/** Encodes a changed text; every fifth time, a bit of it is flipped, so that it may not be UTF-8. */
function mutated(random: Random, text: string, words: readonly string[]): Buffer {
  const bytes = Buffer.from(mutatedText(random, text, words));
  if (bytes.length > 0 && random.chance(0.2)) bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
  return bytes;
}

function spliced(random: Random, text: string, made: (piece: string) => string, length?: number): string {
  const at = random.below(text.length + 1);
  const end = at + (length ?? random.below(Math.min(24, text.length - at) + 1));
  return text.slice(0, at) + made(text.slice(at, end)) + text.slice(end);
}
