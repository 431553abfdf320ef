import { Cluster } from '../support/cluster.js';
import { FIRST_FRAGMENT, FRAGMENT, FrameFlood, PING, PONG, TEXT, frame } from '../support/frame-flood.js';
import { RawSocket } from '../support/raw-socket.js';
import type { ServiceProcess } from '../support/service-process.js';
import { signIn, type Tokens } from '../support/sign-in.js';
import { Witness, report } from '../support/witness.js';

const FLOODERS = 4;
const MIB = 1024 * 1024;
/** Each attacker stops after that: without a limit it would cost the service several times as much memory. */
const MOST = 48 * MIB;
/** What loopback still accepts when nobody reads the connection any more: the kernel's buffers of both sides. */
const IN_FLIGHT = 16 * MIB;

/**
 * WebSocket control frames from clients that do not read: PINGs were answered without limit, and the answers were kept
 * (133 MiB of one connection, without a token, took 1.26 GiB in 11 s).
 */
describe('a flood of control frames', () => {
  let cluster: Cluster;
  let service: ServiceProcess;
  let tokens: Tokens;

  beforeAll(async () => {
    cluster = await Cluster.create();
    service = await cluster.start();
    tokens = await signIn(service.url);
  });
  afterAll(() => cluster?.close());

  const LARGE = 'x'.repeat(125);
  const kinds: [string, Buffer, Buffer | undefined][] = [
    ['PINGs', frame(PING, LARGE), undefined],
    ['PINGs without anything', frame(PING), undefined],
    ['PONGs', frame(PONG, LARGE), undefined],
    ['empty messages', frame(TEXT), undefined],
    ['answers to heartbeats', frame(TEXT, '3'), undefined],
    ['heartbeats', frame(TEXT, '2'), undefined],
    ['empty fragments of one message', frame(FRAGMENT), frame(FIRST_FRAGMENT)],
    ['small fragments of one message', frame(FRAGMENT, 'x'), frame(FIRST_FRAGMENT, '42')],
    ['PINGs between fragments', Buffer.concat([frame(FRAGMENT), frame(PING, LARGE)]), frame(FIRST_FRAGMENT)],
  ];
  describe.each([
    ['before admission', () => undefined],
    ['with a token', () => tokens.access_token],
  ])('%s', (when, token) => {
    it.each(kinds)('%s: each connection is cut off, and memory stays flat', async (kind, repeated, first) => {
      const witness = new Witness(service);
      const floods = await Promise.all(
        Array.from({ length: FLOODERS }, async () => {
          const flood = await FrameFlood.open(service.url, token());
          return flood.send(repeated, MOST, first);
        }),
      );
      const cost = await witness.stop();
      const sent = floods.reduce((sum, flood) => sum + flood.sent, 0);
      report(`${kind} of ${FLOODERS} connections ${when}`, sent, cost);
      expect(floods.map(({ cut }) => cut)).toEqual(Array(FLOODERS).fill(true));
      expect(sent).toBeLessThan(FLOODERS * IN_FLIGHT);
      if (cost.memory > 0) expect(cost.memory).toBeLessThan(64);
      expect(cost.gap).toBeLessThan(5000);
    });
  });

  it('a client that pings as often as it may is answered, each time', async () => {
    const raw = await RawSocket.connect(service.url, tokens.access_token);
    for (let i = 0; i < 20; i++) expect(await raw.ping(`ping ${i}`)).toBe(`ping ${i}`);
    raw.destroy();
  });
});
