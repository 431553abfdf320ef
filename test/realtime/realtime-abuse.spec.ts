import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { bearer, claimsOf, signIn, type Tokens } from '../support/sign-in.js';
import { Cluster } from '../support/cluster.js';
import { RawSocket, SocketClient } from '../support/socket-client.js';
import { until } from '../support/waiting.js';
import { prepare, use } from '../support/use.js';

/** Packets that a client sends at once. */
const FLOOD = 500;
/** Durations of a push without load that are added to the limits, for slow machines. */
const LENIENCY = 20;

/** Clients that break the protocol (security.md): the service and its other users are not harmed. */
describe('abuse of the real-time channel', () => {
  let tokens: Tokens;
  let witness: { tokens: Tokens; client: SocketClient };
  /** Milliseconds that a push to the witness takes without load. */
  let atRest = 0;
  const raws: RawSocket[] = [];
  /** How long a client that answers no ping is online, while the other tests run. */
  let silent: Promise<number>;
  afterAll(() => witness?.client.close());

  const cluster = use(() => Cluster.create());
  const service = prepare(() => cluster.start());
  beforeAll(async () => {
    const own = await signIn(service.url);
    witness = { tokens: own, client: await SocketClient.connect(service.url, own.access_token) };
    for (let i = 0; i < 5; i++) atRest = Math.max(atRest, await pushToWitness());
    silent = (async () => {
      const { access_token, user_id } = await signIn(service.url);
      const raw = await RawSocket.connect(service.url, access_token);
      const began = performance.now();
      await raw.closed;
      const probe = () => cluster.push(service, { user_id, event: 'x', ttl: 0 });
      while ((await probe()).body.online) await delay(100);
      return performance.now() - began;
    })();
    silent.catch(() => undefined); // the test throws it
  });
  beforeEach(async () => {
    tokens = await signIn(service.url);
  });
  afterEach(async () => {
    await unharmed();
    raws.splice(0).forEach((raw) => raw.destroy());
  });

  async function open(): Promise<RawSocket> {
    const raw = await RawSocket.open(service.url);
    raws.push(raw);
    return raw;
  }
  async function connect({ access_token }: Tokens): Promise<RawSocket> {
    const raw = await RawSocket.connect(service.url, access_token);
    raws.push(raw);
    return raw;
  }
  const many = <Item>(count: number, make: () => Promise<Item>) =>
    Promise.all(Array.from({ length: count }, make));
  const push = ({ user_id }: Tokens, event: string, data: unknown = null) =>
    cluster.push(service, { user_id, event, data });

  async function pushToWitness(): Promise<number> {
    const event = `witness.${randomUUID()}`;
    const began = performance.now();
    expect((await push(witness.tokens, event)).status).toBe(202);
    await Promise.race([witness.client.next(event), witnessIsGone()]);
    return performance.now() - began;
  }

  async function witnessIsGone(): Promise<never> {
    throw new Error(`the witness was disconnected: ${await witness.client.closed()}`);
  }

  /** The bound of a push, on this machine. */
  function expectWithin(ms: number, took: number): void {
    expect(took).toBeLessThan(ms + LENIENCY * atRest);
  }

  /** Another user gets a push in time, and the process logs no error. */
  async function unharmed(): Promise<void> {
    expectWithin(1000, await pushToWitness());
    expect(witness.client.disconnects).toEqual([]);
    expect((await cluster.readiness(service))[0]).toBe(200);
    expect(service.child.exitCode).toBeNull();
    expect(service.output()).not.toMatch(/uncaught|unhandled|"level":"(error|fatal)"|TypeError/i);
  }

  async function closesWithin(ms: number, raw: RawSocket): Promise<void> {
    const began = performance.now();
    await raw.closed;
    expectWithin(ms, performance.now() - began);
  }

  describe('before it has sent a token', () => {
    it.each<[string, string | Buffer]>([
      ['an event', '42["x"]'],
      ['a million attachments', '451000000-["x"]'],
      ['nothing at all', ''],
      ['a message that is empty', '4'],
      ['bytes', Buffer.from([4, 0, 255])],
      ['a CONNECT that is cut', '40{"token":'],
      ['a CONNECT with a prototype', '40{"__proto__":{"token":"x"},"constructor":1}'],
      ['a CONNECT that is deep', `40${'{"token":'.repeat(5000)}1${'}'.repeat(5000)}`],
    ])('a client that sends %s is closed within a second', async (_name, packet) => {
      const raw = await open();
      raw.send(packet);
      await closesWithin(1000, raw);
    });
  });

  describe('with a token', () => {
    it.each<[string, string[]]>([
      [
        'events that nobody knows',
        ['42["x"]', '42["__proto__",{}]', '42["error",{}]', '42["join","a room"]'],
      ],
      ['acknowledgements of what was never asked for', ['430[]', '43999999[1]', '430["x"]']],
      ['a namespace besides', ['40/admin,{}']],
      [
        'authenticate in odd shapes',
        ['42["authenticate"]', '420["authenticate",[1],{}]', '421["authenticate",7]'],
      ],
      ['attachments that never come', ['451-["x",{"_placeholder":true,"num":0}]']],
    ])('a client that sends %s still gets its own events', async (_name, packets) => {
      const raw = await connect(tokens);
      for (const packet of packets) raw.send(packet);
      await push(tokens, 'own');
      await raw.until((packet) => packet.startsWith('42["own"'));
      expect(raw.received.join()).not.toContain('witness.');
    });

    it.each<[string, string]>([
      ['a second CONNECT', '40{}'],
      ['reserved names', '42["disconnecting"]'],
      ['an event that is not an array', '42{"x":1}'],
      ['more attachments than anybody needs', '4511-["x"]'],
      ['bytes that nothing has announced', 'binary'],
    ])('a client that sends %s is closed', async (_name, packet) => {
      const raw = await connect(tokens);
      raw.send(packet === 'binary' ? Buffer.from([1, 2, 3]) : packet);
      await closesWithin(1000, raw);
    });

    it('a client that connects thirty times over one transport is judged once, and leaves nothing behind', async () => {
      const raw = await open();
      for (let i = 0; i < 30; i++) raw.send(`40${JSON.stringify({ token: tokens.access_token })}`);
      await closesWithin(1000, raw);
      expect(raw.received.filter((packet) => packet.startsWith('40')).length).toBeLessThanOrEqual(1);
      const after = await many(20, () => SocketClient.connect(service.url, tokens.access_token));
      after.forEach((client) => client.close());
    });

    it('forty handshakes at once: twenty are let in', async () => {
      const clients = Array.from({ length: 40 }, () =>
        SocketClient.open(service.url, { token: tokens.access_token }),
      );
      const results = await Promise.allSettled(clients.map((client) => client.ready()));
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(20);
      clients.forEach((client) => client.close());
    });
  });

  it('a new token that comes after the old one has expired is too late', async () => {
    const brief = await cluster.start({ ACCESS_TOKEN_TTL: '2' });
    const { access_token, refresh_token } = await signIn(brief.url);
    const client = await SocketClient.connect(brief.url, access_token);
    const expiry = (claimsOf(access_token)['exp'] as number) * 1000;
    await delay(expiry - 500 - Date.now());
    const fresh = await bearer(brief.url, '').post('/oauth2/refresh', { refresh_token }).expect(200);
    // Both clocks: on a busy machine they differ by some milliseconds.
    await until(() => Date.now() > expiry + 100);
    const { access_token: token } = fresh.body as Tokens;
    const ack = client.socket.emitWithAck('authenticate', { token }).catch(() => 'closed meanwhile');
    const answer = await Promise.race([ack, client.closed()]);
    if (typeof answer === 'object') expect(answer).toMatchObject({ error: 'invalid_token' });
    expect(await client.closed()).toBe('io server disconnect');
    expect(client.received.at(-1)!.data).toEqual({ reason: 'expired' });
    await brief.end('SIGTERM');
  });

  describe('too much', () => {
    it.each<[string, () => Promise<RawSocket>, string]>([
      ['without a token', open, '42["x"]'],
      ['with a token', () => connect(tokens), '42["x"]'],
      ['of answers to pings that nobody sent', open, '3'],
    ])(`20 clients that send ${FLOOD} packets at once, %s, are closed`, async (_name, make, packet) => {
      const flooders = await many(20, make);
      const floods = flooders.map((raw) => {
        for (let i = 0; i < FLOOD; i++) raw.send(packet);
        return raw.closed;
      });
      await unharmed();
      await Promise.all(floods);
    });

    it('a flooder that goes on without reading is cut off within a second', async () => {
      const raw = await connect(tokens);
      raw.stopReading();
      const began = performance.now();
      while (!raw.isBroken) {
        for (let i = 0; i < 100; i++) raw.send('42["x"]');
        await delay(10);
        expectWithin(1500, performance.now() - began);
      }
    });

    it('frames beyond 64 KiB end their connections before they are read', async () => {
      const before = rss();
      const giants = await many(20, open);
      const [each, MIB] = [8, 1024 * 1024];
      for (const raw of giants) raw.send(`42["x","${'x'.repeat(each * MIB)}"]`);
      await unharmed();
      await Promise.all(giants.map(({ closed }) => closed));
      expect(rss() - before).toBeLessThan((giants.length * each) / 2);
    });

    it('nor may fragments add up to more', async () => {
      const raw = await connect(tokens);
      raw.sendFragments(`42["x","${'x'.repeat(60_000)}`, `${'x'.repeat(10_000)}"]`);
      await closesWithin(1000, raw);
    });

    it('a polling request beyond 64 KiB is refused', async () => {
      const polling = `${service.url}/socket.io/?EIO=4&transport=polling`;
      const opened = await (await fetch(polling)).text();
      const { sid } = JSON.parse(opened.slice(1)) as { sid: string };
      const post = await fetch(`${polling}&sid=${sid}`, { method: 'POST', body: 'x'.repeat(70_000) });
      expect(post.status).toBe(413);
    });
  });

  describe('clients that do not read, or never say who they are', () => {
    const EVENTS = 150;
    const LARGE = 'x'.repeat(60_000);
    /** How long the latter stay connected; they have ten seconds, in which the other tests run. */
    let lasted: Promise<number[]>;

    beforeAll(async () => {
      const { access_token } = await signIn(service.url);
      const packets = [
        '',
        '40/admin,{}',
        `40/${witness.tokens.user_id},{"token":"${access_token}"}`,
        '451-["x",{"_placeholder":true,"num":0}]',
        '5',
      ];
      lasted = Promise.all(
        packets.map(async (packet) => {
          const raw = await RawSocket.open(service.url);
          const opened = performance.now();
          if (packet !== '') raw.send(packet);
          await raw.closed;
          return performance.now() - opened;
        }),
      );
      lasted.catch(() => undefined); // the test throws it
    });

    it('cost little memory, delay nobody, and get everything in order once they read again', async () => {
      const reader = await SocketClient.connect(service.url, tokens.access_token);
      const sleepers = await many(19, () => connect(tokens));
      sleepers.forEach((raw) => raw.stopReading());
      const before = rss();
      for (let n = 0; n < EVENTS; n++) expect((await push(tokens, 'large', LARGE)).status).toBe(202);
      await reader.until(() => reader.history.length === EVENTS);
      const pushed = (sleepers.length * EVENTS * LARGE.length) / 1024 / 1024; // MiB
      expect(rss() - before).toBeLessThan(pushed / 2);
      await unharmed();

      const [late] = sleepers;
      late!.readAgain();
      await late!.until((packet) => packet.includes(`"offset":${EVENTS},`));
      const offsets = late!.received.flatMap(
        (packet) => /^42\["large".*"offset":(\d+)/.exec(packet)?.[1] ?? [],
      );
      expect(offsets.map(Number)).toEqual(Array.from({ length: EVENTS }, (_, i) => i + 1));
      reader.close();
    });

    it('are told to come back when events that are not kept would pile up', async () => {
      const raw = await connect(tokens);
      raw.stopReading();
      const unkept = { user_id: tokens.user_id, event: 'unkept', data: 'x'.repeat(4000), ttl: 0 };
      for (let n = 0; n < 100; n++) {
        const pushed = await many(25, () => cluster.push(service, unkept)); // 10 MB: more than the kernel holds, and we
        expect(pushed.map(({ status }) => status)).toEqual(pushed.map(() => 202));
      }
      raw.readAgain();
      await closesWithin(1000, raw);
    });

    it('are cut off by a sign-out, and do not keep the service from stopping', async () => {
      const stopping = await cluster.start();
      const sleepers = await many(10, () => RawSocket.connect(stopping.url, tokens.access_token));
      sleepers.forEach((raw) => raw.stopReading());
      for (let n = 0; n < 150; n++)
        await cluster.push(stopping, { user_id: tokens.user_id, event: 'large', data: LARGE });
      const leaving = await signIn(stopping.url);
      const asleep = await RawSocket.connect(stopping.url, leaving.access_token);
      asleep.stopReading();
      await bearer(stopping.url, leaving.access_token).post('/sign-out').expect(204);
      const signedOut = performance.now();
      while (!asleep.isBroken) {
        asleep.send('3');
        await delay(20);
      }
      expectWithin(1200, performance.now() - signedOut); // a second, and the time of the packet that notices it

      const began = performance.now();
      expect(await stopping.end('SIGTERM')).toBe(0);
      expectWithin(5000, performance.now() - began);
      [...sleepers, asleep].forEach((raw) => raw.destroy());
    });

    it('a client that sends nothing, an unknown namespace, or less than announced is closed after ten seconds', async () => {
      for (const took of await lasted) expectWithin(11_500, took);
    });

    it('a client that never answers a ping is closed, and offline within a minute', async () => {
      expectWithin(60_000, await silent);
    });
  });

  /** Memory of the service in MiB; 0 on systems other than Linux. */
  function rss(): number {
    const status = `/proc/${service.child.pid}/status`;
    if (!existsSync(status)) return 0;
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(status, 'latin1'))![1]) / 1024;
  }
});
