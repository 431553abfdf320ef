import { writeEvents } from '../support/audit-events.js';
import { createDatabase, query, unhurried } from '../support/database.js';
import { startServiceProcess, type ServiceProcess } from '../support/service-process.js';
import { TcpProxy, type Connection } from '../support/tcp-proxy.js';
import { until } from '../support/waiting.js';
import { WEBHOOK_EVENTS, WEBHOOK_SECRET, WebhookReceiver } from '../support/webhook-receiver.js';
import { useEach } from '../support/use.js';

/** Words of the statements of a delivery, as they pass to the database. */
const [HOLD, READ] = ['UPDATE "webhooks" SET "holder"', 'FROM "audit_events"'];
const STORE = 'UPDATE "webhooks" SET "position" = $1, ';

/** An instance, with a proxy before the database. */
interface Instance {
  readonly service: ServiceProcess;
  readonly proxy: TcpProxy;
}

/**
 * Kills and stops instances at each step of a delivery (docs/webhooks.md#what-a-receiver-can-rely-on):
 * nothing is left out, the order is kept, repeats are bounded.
 */
describe('webhooks of instances that end', () => {
  let instances: Instance[];
  let ids: string[];
  afterEach(async () => {
    for (const { service, proxy } of instances) {
      await service.end('SIGKILL');
      await proxy.refuse();
    }
  });
  const database = useEach(() => createDatabase());
  const receiver = useEach(() => WebhookReceiver.start());
  beforeEach(() => {
    [instances, ids] = [[], []];
  });

  const sql = <Row extends object>(text: string) => query<Row>(database.url, text);
  async function start(): Promise<Instance> {
    const proxy = await TcpProxy.before(database.url);
    const behind = new URL(unhurried(database.url));
    behind.port = String(proxy.port);
    const env = {
      WEBHOOK_URLS: receiver.url,
      WEBHOOK_SECRET,
      WEBHOOK_EVENTS,
      DATABASE_URL: behind.href,
      DATA_DIR: '/nonexistent',
    };
    const instance = { service: await startServiceProcess(env), proxy };
    instances.push(instance);
    return instance;
  }
  async function write(count: number): Promise<void> {
    ids.push(...(await writeEvents(database.url, count)));
  }
  /** Ends the lease, as 15 s without an instance would. */
  const expire = () => sql('UPDATE webhooks SET held_until = now()');
  async function expectAll(repeats: number): Promise<void> {
    await until(() => receiver.firsts.length >= ids.length);
    expect(receiver.firsts).toEqual(ids); // nothing is left out, and the order is kept
    expect(receiver.repeats).toBeLessThanOrEqual(repeats);
    expect(receiver.invalid).toEqual([]);
  }
  /** Waits until all is stored, too. */
  async function settled(): Promise<void> {
    await until(
      async () => (await sql(`SELECT FROM webhooks WHERE position LIKE '%${ids.at(-1)}'`)).length > 0,
    );
  }

  type Step = (instance: Instance, reached: () => void) => void;
  /** The bytes of a statement are about to pass: they never do. */
  const asked =
    (words: string): Step =>
    ({ proxy }, reached) => {
      proxy.toServer.watches.add((chunk, { toServer }) => {
        if (!chunk.includes(words)) return;
        toServer.hold();
        reached();
      });
    };
  /** The statement is committed, and its result never arrives. */
  const answered =
    (words: string): Step =>
    ({ proxy }, reached) => {
      let connection: Connection | undefined;
      proxy.toServer.watches.add((chunk, its) => {
        if (chunk.includes(words)) connection = its;
      });
      proxy.toClient.watches.add((_chunk, its) => {
        if (its !== connection) return;
        its.toClient.hold();
        reached();
      });
    };
  const STEPS: readonly (readonly [name: string, step: Step])[] = [
    ['before the lease', asked(HOLD)],
    ['with the lease', answered(HOLD)],
    ['before the events are read', asked(READ)],
    ['with the events', answered(READ)],
    [
      'with a connection to the receiver',
      (_instance, reached) => {
        for (const socket of receiver.sockets) socket.destroy(); // so that there is a new one
        receiver.onConnection = reached;
      },
    ],
    ['with a request', (_instance, reached) => (receiver.answer = reached)],
    [
      'with an answer',
      (_instance, reached) =>
        (receiver.answer = (response) => {
          response.writeHead(204).end();
          reached();
        }),
    ],
    ['before the position is stored', asked(STORE)],
    ['with the position stored', answered(STORE)],
  ];
  /** Resolves when an instance is at a step, after the signal was sent to it; from then on, the receiver accepts. */
  function signalAt(step: Step, instance: Instance, signal: NodeJS.Signals): Promise<void> {
    const { answer } = receiver;
    return new Promise((resolve) => {
      step(instance, () => {
        instance.service.child.kill(signal);
        for (const { watches } of [instance.proxy.toServer, instance.proxy.toClient]) watches.clear();
        Object.assign(receiver, { answer, onConnection: () => undefined });
        resolve();
      });
    });
  }

  /** Resumes an instance, with what was held, until it has asked for the lease again. */
  async function resume({ service, proxy }: Instance): Promise<void> {
    await proxy.restore();
    const looks = new Promise<void>((resolve) => {
      proxy.toServer.watches.add((chunk) => chunk.includes(HOLD) && resolve());
    });
    service.child.kill('SIGCONT');
    await looks;
  }

  it('SIGKILL: nothing is left out, the order is kept, and each kill repeats one event at most', async () => {
    let instance = await start();
    await write(3);
    await expectAll(0);
    await settled();
    // Without a request, a process that is killed leaves no more behind than one that is stopped.
    const kills = STEPS.slice(STEPS.findIndex(([name]) => name === 'with a request'));
    for (const [before, [, step]] of kills.entries()) {
      const killed = signalAt(step, instance, 'SIGKILL');
      await write(5);
      await killed;
      await instance.service.end('SIGKILL');
      await expire();
      instance = await start();
      await expectAll(before + 1);
    }
    await settled();
  });

  it('SIGSTOP at each step: another instance goes on, and SIGCONT sets nothing back', async () => {
    let sender = await start();
    await write(3);
    await expectAll(0);
    await settled();
    let other = await start();
    for (const [stops, [, step]] of STEPS.entries()) {
      const stopped = signalAt(step, sender, 'SIGSTOP');
      await write(5);
      await stopped;
      await expire();
      await expectAll(stops + 1);
      await settled();
      const [before] = await sql('SELECT position, holder FROM webhooks');
      await resume(sender);
      expect((await sql('SELECT position, holder FROM webhooks'))[0]).toEqual(before);
      [sender, other] = [other, sender];
      await write(1);
      await expectAll(stops + 1);
      await settled();
    }

    // Stopped for longer than its lease, an instance sends no event that it has read before.
    const { repeats } = receiver;
    const stopped = signalAt(answered(STORE), sender, 'SIGSTOP');
    await write(5);
    await stopped;
    await expectAll(repeats); // after 15 s
    await settled();
    await resume(sender);
    await expectAll(repeats);
    await write(1);
    await expectAll(repeats);
    expect(await other.service.end('SIGTERM')).toBe(0);
    await write(1); // at SIGTERM, the lease ends at once
    await expectAll(repeats);
  });
});
