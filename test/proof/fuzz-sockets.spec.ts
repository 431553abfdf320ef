import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Cluster } from '../support/cluster.js';
import { frame, TEXT } from '../support/frame-flood.js';
import { needs } from '../support/installed.js';
import { RawSocket } from '../support/raw-socket.js';
import type { ServiceProcess } from '../support/service-process.js';
import { claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { until } from '../support/until.js';
import { Witness } from '../support/witness.js';
import { INSPECTED, heldMemory } from '../support/held-memory.js';
import { isFull, reportFigure, seed } from '../support/proof.js';
import { fuzz, type Target, type Verdict } from './fuzz/fuzz.js';
import { mutatedBytes, mutatedText } from './fuzz/mutate.js';
import { Random } from './fuzz/random.js';
import { exchange } from './fuzz/raw-http.js';

const PACKETS = [
  '2',
  '2probe',
  '3',
  '1',
  '5',
  '6',
  '4',
  '40',
  '41',
  '42["x",1]',
  '421["authenticate",{"token":"x"}]',
  '43["x"]',
  '431[]',
  '44{"message":"x"}',
  '451-["x",{"_placeholder":true,"num":0}]',
  'bAAAA',
  '40/admin,{"token":"x"}',
  '42/x,["y"]',
  '42["error"]',
  '42["disconnect"]',
  '42["newListener",1]',
  '42["authenticate",{"toString":1},0]',
];
const WORDS = [
  ...PACKETS,
  '["',
  '"]',
  '{',
  '}',
  '[',
  ']',
  ',',
  '-',
  '/',
  '0',
  '9'.repeat(20),
  '"_placeholder":true',
  '"num":-1',
  '__proto__',
  '\x1e',
  '"token":{}',
  '[[[[',
];
const UPGRADE =
  'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';
const CLOSE = '\x88';
const SEPARATOR = '\x1e';
/** Inputs of a target before its memory is weighed, and again after. */
const HALF = 3000;
/** By which the memory that is held, garbage collected, may grow with each input once as many have come before. */
const MOST_BYTES = 512;
/** After which a connection that has shown no token is closed (src/realtime/admission.ts), and a little. */
const LONGEST_WAIT_MS = 11_000;
/** A request that has no answer by then has none. */
const ANSWER_MS = 30_000;
/** Keeps one KiB of each connection. */
const LEAK = `import { Server } from 'node:net'; const { emit } = Server.prototype; globalThis.kept = [];
Server.prototype.emit = function (name, ...more) { if (name === 'connection') kept.push(Buffer.alloc(1024)); return emit.call(this, name, ...more); };`;

const inFull = needs({ 'npm run test:proof': isFull }).it;

/** Of the first answer. */
const statusOf = (answered: string): number => Number(/^HTTP\/1\.1 (\d{3}) /.exec(answered)?.[1]);

describe('packets of strangers', () => {
  let cluster: Cluster;
  let service: ServiceProcess;
  let watcher: Witness;
  let witness: SocketClient;
  let [ada, eve] = [] as unknown as [Tokens, Tokens];
  let pushed = 0;

  beforeAll(async () => {
    cluster = await Cluster.create();
    service = await cluster.start(isFull ? { NODE_OPTIONS: INSPECTED } : {});
    [ada, eve] = [await signIn(service.url), await signIn(service.url)];
    witness = await SocketClient.connect(service.url, ada.access_token);
    watcher = new Witness(service);
  });
  afterEach(async () => {
    expect(service.child.exitCode).toBeNull();
    expect((await cluster.push(service, { user_id: ada.user_id, event: 'w', data: ++pushed })).status).toBe(
      202,
    );
    await witness.until(() => witness.of('w').length === pushed);
    expect(witness.received.map(({ event }) => event)).toEqual(['ready', ...Array<string>(pushed).fill('w')]);
    await until(async () => (await sockets()) === 1);
    expect(witness.disconnects).toEqual([]);
  });
  afterAll(async () => {
    const { memory, gap } = await watcher.stop();
    reportFigure({
      part: 'fuzzing',
      what: 'packets of strangers: resident memory afterwards, longest gap of /health/live',
      figure: `${memory.toFixed(0)} MiB more, ${gap.toFixed(0)} ms`,
    });
    witness?.close();
    await cluster?.close();
    expect(claimsOf(ada.access_token)['sub']).toBe(ada.user_id);
  });

  async function sockets(): Promise<number> {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    return Number(/^latchkey_sockets (\d+)/m.exec(text)?.[1]);
  }

  function packets(random: Random): string {
    const connectPacket = `40${JSON.stringify({ token: eve.access_token, ...(random.chance(0.3) && { offset: random.below(3) }) })}`;
    const first = random.chance(0.6) ? connectPacket : mutatedText(random, connectPacket, WORDS);
    return [
      first,
      ...random.some(0, 6, () =>
        random.chance(0.3) ? random.pick(PACKETS) : mutatedText(random, random.pick(PACKETS), WORDS),
      ),
    ].join(SEPARATOR);
  }

  /** All packets at once; then whether the connection is still open, and what was answered. */
  async function said(url: string, input: string): Promise<{ isOpen: boolean; received: readonly string[] }> {
    const socket = await RawSocket.open(url);
    for (const packet of input.split(SEPARATOR))
      socket.send(packet.startsWith('b') ? Buffer.from(packet) : packet);
    const isOpen = await Promise.race([
      socket.ping('alive').then(() => true),
      socket.closed.then(() => false),
    ]);
    socket.destroy();
    await socket.closed;
    return { isOpen, received: socket.received };
  }

  /** Fuzzes a target; in full, what the service still holds may not grow with the inputs. The first half is for all that is made once. */
  async function fuzzAndWeigh<Input extends string | Buffer>(target: Target<Input>): Promise<void> {
    let before = 0;
    const weigh = async (): Promise<number> => {
      await delay(LONGEST_WAIT_MS);
      await until(async () => (await sockets()) === 1);
      return heldMemory(service);
    };
    const inputs = await fuzz({
      ...target,
      ...(isFull && { halfway: async () => void (before = await weigh()) }),
    });
    if (!isFull) return;
    const growth = ((await weigh()) - before) / (inputs / 2);
    reportFigure({
      part: 'fuzzing',
      what: `${target.name}: memory held after a garbage collection, more for each input of the second half`,
      figure: `${growth.toFixed(0)} bytes`,
      wanted: `≤ ${MOST_BYTES} bytes`,
    });
    expect(growth).toBeLessThanOrEqual(MOST_BYTES);
  }

  /** Nothing was said to a stranger who has shown no token, and nothing of another user to anybody. */
  function mustBeTheirs(received: readonly string[]): void {
    if (received.some((packet) => packet.includes(ada.user_id) || packet.includes('["w"')))
      throw new Error("another user's events");
    const allowed =
      /^(?:0\{|2|3|40\{|44\{|44\/[^]*,\{"message":"Invalid namespace"\}$|42\["(?:ready|session\.ended|token\.expiring)"|43\d*\[|41$|6|1$)/;
    const strange = received.find((packet) => !allowed.test(packet));
    if (strange !== undefined) throw new Error(`an unknown packet: ${strange.slice(0, 200)}`);
  }

  it('of Socket.IO end in an answer or a close, and reach nobody else', async () => {
    await fuzzAndWeigh({
      name: 'packets of Engine.IO and Socket.IO',
      short: 40,
      full: 2 * HALF,
      atOnce: 4,
      generate: packets,
      async judge(input): Promise<Verdict> {
        const { isOpen, received } = await said(service.url, input);
        mustBeTheirs(received);
        return isOpen ? 'accepted' : 'refused';
      },
    });
  });

  it('of WebSockets, byte by byte, end with their connection', async () => {
    await fuzzAndWeigh({
      name: 'frames of WebSockets, bytes',
      short: 40,
      full: 2 * HALF,
      atOnce: 4,
      generate: (random) =>
        mutatedBytes(
          random,
          Buffer.concat(
            packets(random)
              .split(SEPARATOR)
              .map((packet) =>
                frame(random.pick([TEXT, TEXT, 0x01, 0x80, 0x82, 0x89, 0x8a, 0x88, 0xc1]), packet),
              ),
          ),
        ),
      async judge(bytes): Promise<Verdict> {
        const { hostname, port } = new URL(service.url);
        const socket = connect(Number(port), hostname);
        let received = '';
        socket
          .on('error', () => undefined)
          .on('data', (data: Buffer) => (received += data.toString('latin1')));
        socket.write(UPGRADE);
        await until(() => received.includes('"sid"') || socket.destroyed);
        socket.end(bytes);
        const late = setTimeout(() => socket.destroy(new Error('late')), 5000);
        if (!socket.destroyed) await once(socket, 'close').catch(() => undefined);
        clearTimeout(late);
        if (socket.errored?.message === 'late') throw new Error('the connection was not ended within 5 s');
        if (received.includes(ada.user_id)) throw new Error("another user's events");
        return received.slice(received.indexOf('"sid"')).includes(CLOSE) ? 'refused' : 'accepted';
      },
    });
  });

  it('of long polling are answered, never with 5xx', async () => {
    await fuzzAndWeigh({
      name: 'requests of long polling',
      short: 25,
      full: 2 * HALF,
      atOnce: 2,
      generate: (random) =>
        random.chance(0.5) ? packets(random) : mutatedText(random, packets(random), WORDS),
      async judge(payload): Promise<Verdict> {
        const open = await fetch(`${service.url}/socket.io/?EIO=4&transport=polling`);
        const opened = await open.text();
        if (open.status !== 200) {
          expect(open.status).toBe(429); // too many wait for admission at the moment
          return 'refused';
        }
        const { sid } = JSON.parse(opened.slice(1)) as { sid: string };
        const body = Buffer.from(payload);
        const head = `POST /socket.io/?EIO=4&transport=polling&sid=${sid} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n`;
        const status = statusOf(
          await exchange(service.url, Buffer.concat([Buffer.from(head), body]), ANSWER_MS),
        );
        if (!(status >= 200 && status < 500)) throw new Error(`answered with ${status}`);
        // It leaves, if it is still there.
        const leave = `${head.replace(/Content-Length: \d+/, 'Content-Length: 1')}1`;
        return statusOf(await exchange(service.url, Buffer.from(leave))) === 200 ? 'accepted' : 'refused';
      },
    });
  });

  inFull('are found to leave something behind where they do: one KiB of each connection', async () => {
    const leaking = await cluster.start({
      NODE_OPTIONS: `${INSPECTED} --import=data:text/javascript,${encodeURIComponent(LEAK)}`,
    });
    const weights: number[] = [];
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < HALF; i += 4) {
        const four = [0, 1, 2, 3].map((j) => packets(new Random(seed, round * HALF + i + j)));
        await Promise.all(four.map((input) => said(leaking.url, input)));
      }
      await delay(LONGEST_WAIT_MS);
      weights.push(await heldMemory(leaking));
    }
    const growth = (weights[1]! - weights[0]!) / HALF;
    reportFigure({
      part: 'fuzzing',
      what: 'planted: a service that keeps 1 KiB of each connection: memory held, more for each input of the second half',
      figure: `${growth.toFixed(0)} bytes`,
      wanted: `> ${MOST_BYTES} bytes`,
    });
    expect(growth).toBeGreaterThan(MOST_BYTES);
  });
});
