import { query, createDatabase, unhurried } from '../support/database.js';
import { writeEvents } from '../support/audit-events.js';
import { startTestService, type TestService } from '../support/service.js';
import { signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import {
  WEBHOOK_EVENTS,
  WEBHOOK_SECRET,
  WebhookReceiver,
  type Delivery,
} from '../support/webhook-receiver.js';
import { useEach } from '../support/use.js';

const EVIL = 'sqlmap/1.8 (https://sqlmap.org)';
const SET_ASIDE = 'webhook_event_set_aside';
const CHECK = 'webhook_check';

/** Strangers write into events of the audit trail, and must not stop or delay the webhooks of others (docs/webhooks.md). */
describe('attacks on the queue of a webhook', () => {
  let service: TestService | undefined;
  /** Ids of accepted events, besides checks and events about events. */
  let accepted: string[];
  afterEach(async () => {
    await service?.close();
    service = undefined;
  });
  const database = useEach(() => createDatabase());
  const receiver = useEach(() => WebhookReceiver.start());
  const provider = useEach(() => StubProvider.start());
  beforeEach(() => {
    accepted = [];
  });

  const sql = <Row extends object>(text: string) => query<Row>(database.url, text);
  async function start(env: Record<string, string> = {}): Promise<void> {
    service = await startTestService({
      ...provider.env(),
      WEBHOOK_URLS: receiver.url,
      WEBHOOK_SECRET,
      WEBHOOK_EVENTS,
      ...env,
      DATABASE_URL: unhurried(database.url),
    });
    await until(async () => (await sql('SELECT FROM webhooks WHERE held_until > now()')).length === 1);
  }
  /** The receiver answers with the status to what is refused, and accepts the rest. */
  function refuse(isRefused: (delivery: Delivery) => boolean, status = 403): void {
    receiver.answer = (response, delivery) => {
      if (isRefused(delivery)) return response.writeHead(status).end();
      if (![CHECK, SET_ASIDE].includes(delivery.body.type)) accepted.push(delivery.id);
      return response.writeHead(204).end();
    };
  }
  const isEvil = ({ body }: Delivery): boolean => JSON.stringify(body).includes('sqlmap');
  /** Lets the next attempts follow at once, until the condition holds. */
  const hurried = (holds: () => boolean | Promise<boolean>, what: string): Promise<void> =>
    until(async () => {
      await sql('UPDATE webhooks SET retry_at = now() WHERE retry_at > now()');
      return holds();
    }, what);
  const setAside = async (): Promise<string[]> => {
    const rows = await sql<{ reason: string }>(
      `SELECT reason FROM audit_events WHERE event = '${SET_ASIDE}' ORDER BY at`,
    );
    return rows.map(({ reason }) => reason);
  };
  const evilSignIn = () => signIn(service!.url, 'mallory', { user_agent: EVIL });

  it.each([403, 400, 404, 413, 422])(
    'an event that a filter answers with %i is set aside; the rest goes on, in order, and the trail names it',
    async (status) => {
      refuse(isEvil, status);
      await start();
      const before = await write();
      await evilSignIn();
      const after = [...(await write()), ...(await write())];
      await hurried(() => accepted.length === 3, 'the others are accepted');
      expect(accepted).toEqual([...before, ...after]);
      const [evil] = await sql<{ id: string }>(`SELECT id FROM audit_events WHERE user_agent IS NOT NULL`);
      expect(await setAside()).toEqual([
        `Webhook 1 (127.0.0.1:${receiver.port}) refuses the event ${evil!.id} (status ${status}), and accepts others: it is set aside.`,
      ]);
      expect(receiver.ids.filter((id) => id === evil!.id)).toHaveLength(5);
    },
  );

  it('many such events cost one attempt each: a stranger cannot delay the rest by repeating', async () => {
    refuse(isEvil);
    await start();
    for (let i = 0; i < 20; i++) await evilSignIn();
    const [id] = await write();
    await hurried(() => accepted.includes(id!), 'the event behind them is accepted');
    expect(await setAside()).toHaveLength(20);
    const attempts = receiver.deliveries.filter(isEvil).length;
    process.stdout.write(`  attack: 20 refused events: ${attempts} attempts\n`);
    expect(attempts).toBe(5 + 19);
  });

  it('events that are refused by name, also those about refused events, do not multiply', async () => {
    refuse(({ body }) => body.type === 'sign_in' || body.type === SET_ASIDE, 422);
    await start();
    await write(2);
    const [last] = await write(1, 'sign_out');
    await hurried(() => accepted.includes(last!), 'the event behind them is accepted');
    await until(async () => {
      const [row] = await sql<{ n: number }>(
        `SELECT count(*)::int AS n FROM webhooks WHERE position > (SELECT max(extract(epoch FROM at) * 1000000)::bigint::text FROM audit_events)`,
      );
      return row!.n === 1;
    });
    expect(await setAside()).toHaveLength(2);
  });

  // Controls: nothing of this is the content of an event.
  it.each([401, 404, 500, 429, 408])(
    'a receiver that answers %i to everything loses nothing',
    async (status) => {
      refuse(() => true, status);
      await start();
      const ids = [...(await write(2)), ...(await write())];
      // It recovers before an event: an accepted check right behind a refused event would set this one aside.
      refuse(() => receiver.ids.filter((id) => id === ids[0]).length <= 6, status);
      await hurried(() => accepted.length === 3, 'all are accepted');
      expect(accepted).toEqual(ids);
      expect(new Set(receiver.deliveries.map((one) => one.body.type))).toEqual(
        new Set(status === 401 || status === 404 ? ['sign_in', CHECK] : ['sign_in']),
      );
      expect(await setAside()).toEqual([]);
    },
  );

  it('an event that is refused while instances of the receiver change, 4 times, is sent again', async () => {
    let left = 4;
    refuse(() => left-- > 0, 404);
    await start();
    const ids = await write(2);
    await hurried(() => accepted.length === 2, 'both are accepted');
    expect(accepted).toEqual(ids);
    expect(await setAside()).toEqual([]);
  });

  describe('by refusals', () => {
    const FLOOD = 20_000;
    /** Refusals within one minute, of so many addresses. */
    const flood = (addresses: number) =>
      sql(
        `INSERT INTO audit_events (user_id, at, id, event, result, error, address, actor_type)
         SELECT '00000000-0000-0000-0000-000000000000', date_trunc('minute', now()) - interval '2 minutes' + n * interval '1 ms',
           gen_random_uuid(), 'sign_in_refused', 'refused', 'invalid_grant', '10.0.' || n % ${addresses} / 256 || '.' || n % ${addresses} % 256, 'user'
         FROM generate_series(1, ${FLOOD}) AS n`,
      );
    const since = `UPDATE webhooks SET position = (extract(epoch FROM now() - interval '5 minutes') * 1000000)::bigint || '-00000000-0000-0000-0000-000000000000'`;

    it.each([
      ['one address', 1, WEBHOOK_EVENTS, 1],
      ['1,000 addresses', 1000, WEBHOOK_EVENTS, 100],
      ['one address, by default', 1, '', 0],
    ])('%s: a flood does not delay the event behind it', async (_who, addresses, names, sent) => {
      refuse(() => false);
      await start({ WEBHOOK_EVENTS: names });
      await flood(addresses);
      await sql(since);
      const [last] = await write();
      const began = performance.now();
      await until(() => accepted.includes(last!));
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      const refusals = receiver.deliveries.filter((one) => one.body.type === 'sign_in_refused').length;
      process.stdout.write(
        `  attack: ${FLOOD} refusals: ${refusals} sent, the next event after ${seconds} s\n`,
      );
      expect(refusals).toBe(sent);
    });
  });

  function write(count = 1, event = 'sign_in'): Promise<string[]> {
    return writeEvents(database.url, count, event);
  }
});
