import { randomUUID } from 'node:crypto';
import { query, unhurried } from '../support/database.js';
import { SERVICE_KEY, startTestService, type TestService } from '../support/service.js';
import { startServiceProcess } from '../support/service-process.js';
import { bearer, type Tokens } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { TcpProxy, type Connection } from '../support/tcp-proxy.js';
import { use } from '../support/use.js';
import { until } from '../support/waiting.js';
import { WEBHOOK_SECRET, WebhookReceiver } from '../support/webhook-receiver.js';
import { link, tokensAt } from './person.js';

type Row = Record<string, unknown>;

/** A merge is whole or has only signed the other user out, wherever the instance that does it dies. */
describe('an interrupted merge', () => {
  const corp = use(() => StubProvider.start());
  const hub = use(() => StubProvider.start());
  const receiver = use(() => WebhookReceiver.start());
  const env = () => ({
    ...corp.env('CORP'),
    ...hub.env('HUB'),
    PROVIDERS_MOCK_ENABLED: 'false',
    PROVIDERS_CORP_LINKS: 'hub',
    SERVICE_KEYS: SERVICE_KEY,
    PUBLIC_URL: 'http://localhost:3000',
  });
  const here = use(() =>
    startTestService({
      ...env(),
      WEBHOOK_URLS: receiver.url,
      WEBHOOK_SECRET,
      WEBHOOK_EVENTS: 'user_merged',
    }),
  );
  const proxy = use(
    () => TcpProxy.before(here.databaseUrl),
    (one) => one.refuse(),
  );
  const behind = () => ({ ...env(), DATABASE_URL: unhurried(proxy.through(here.databaseUrl)) });

  const sql = (text: string, ...values: unknown[]): Promise<Row[]> => query(here.databaseUrl, text, values);
  /** Users that were merged, in their order. */
  const merged: string[] = [];

  async function pair() {
    const octo = `octo-${randomUUID()}`;
    const other = await tokensAt(here, 'hub', octo, { device_id: randomUUID() });
    const claims = { plan: 'gold' };
    await bearer(here.url, SERVICE_KEY).put(`/users/${other.user_id}/claims`, { claims }).expect(200);
    const own = await tokensAt(here, 'corp', `ada-${randomUUID()}`);
    return { octo, other, own };
  }
  type Pair = Awaited<ReturnType<typeof pair>>;
  const prove = ({ own, octo }: Pair) => link(here, own, 'hub', octo);
  const tokenOf = async (two: Pair): Promise<string> =>
    ((await prove(two)).body as { merge_token: string }).merge_token;
  const merge = (at: Pick<TestService, 'url'>, { own }: Pair, merge_token: string) =>
    bearer(at.url, own.access_token).post('/me/identities/merge', { merge_token });

  const state = async ({ own, other }: { own: Tokens; other: Tokens }): Promise<Row> => {
    const text = `SELECT (SELECT merged_into FROM users WHERE user_id = $2) = $1::uuid AS is_merged,
      (SELECT application_claims FROM users WHERE user_id = $2) AS claims,
      (SELECT count(*)::int FROM devices WHERE user_id = $2) AS devices,
      (SELECT count(*)::int FROM users WHERE user_id = $2 AND merged_into = $1) AS joined,
      (SELECT count(*)::int FROM audit_events WHERE event = 'user_merged' AND user_id = $1 AND former_user_id = $2) AS events`;
    return (await sql(text, own.user_id, other.user_id))[0]!;
  };
  const NOTHING = { is_merged: null, claims: { plan: 'gold' }, devices: 1, joined: 0, events: 0 };
  const WHOLE = { is_merged: true, claims: null, devices: 0, joined: 1, events: 1 };

  /** Nothing or all was done; with a new proof, all is. */
  async function expectConsistent(two: Pair): Promise<boolean> {
    const found = await state(two);
    const isWhole = found['is_merged'] === true;
    expect(found).toEqual(isWhole ? WHOLE : NOTHING);
    if (isWhole) expect(await prove(two)).toMatchObject({ status: 200 });
    else await merge(here, two, await tokenOf(two)).expect(200);
    expect(await state(two)).toEqual(WHOLE);
    merged.push(two.other.user_id);
    const open = `SELECT FROM refresh_tokens WHERE user_id = $1 AND signed_out_at IS NULL`;
    expect(await sql(open, two.other.user_id)).toEqual([]);
    expect((await tokensAt(here, 'hub', two.octo)).user_id).toBe(two.own.user_id);
    return isWhole;
  }
  /** Transactions of an instance that is gone end by themselves. */
  const settled = (): Promise<void> =>
    until(async () => {
      const open = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'`;
      return (await sql(open)).length === 0;
    });

  it('at each statement: is whole or can be repeated', async () => {
    const victim = await startTestService(behind());
    try {
      for (let at = 1; ; at++) {
        const two = await pair();
        const token = await tokenOf(two);
        let seen = 0;
        proxy.toServer.watches.add(() => {
          if (++seen === at) proxy.cut(); // this one has not passed
        });
        const answered = await merge(victim, two, token).then(
          ({ status }) => status,
          () => 0,
        );
        proxy.toServer.watches.clear();
        await settled();
        const isWhole = await expectConsistent(two);
        if (answered === 200) expect(isWhole).toBe(true);
        await until(async () => (await bearer(victim.url, two.own.access_token).get('/me')).status === 200);
        if (answered === 200 && seen < at) break;
        expect(at).toBeLessThan(400);
      }
    } finally {
      await victim.close();
    }
    expect(merged.length).toBeGreaterThan(20);
  });

  const COMMIT = 'COMMIT';
  it.each<[string, (reached: () => void) => void, boolean]>([
    [
      'before it removes the other user',
      (reached) =>
        proxy.toServer.watches.add((chunk, { toServer }) => {
          if (!chunk.includes('DELETE FROM "devices"')) return;
          toServer.hold();
          reached();
        }),
      false,
    ],
    [
      'before the answer to its last commit',
      (reached) => {
        let its: Connection | undefined;
        let isLast = false;
        proxy.toServer.watches.add((chunk, connection) => {
          if (chunk.includes('user_merged')) [its, isLast] = [connection, true];
          else if (isLast && its === connection && chunk.includes(COMMIT)) {
            connection.toClient.hold();
            setTimeout(reached, 500); // the database has committed
          }
        });
      },
      true,
    ],
  ])('by SIGKILL %s', async (_where, watch, isWhole) => {
    const victim = await startServiceProcess(behind());
    const two = await pair();
    const token = await tokenOf(two);
    const reached = new Promise<void>(watch);
    merge(victim, two, token).then(undefined, () => undefined);
    await reached;
    await victim.end('SIGKILL');
    await proxy.restore();
    proxy.cut();
    await settled();
    expect(await expectConsistent(two)).toBe(isWhole);
  });

  it('is told once, in the trail and by webhook', async () => {
    const idsOf = (): unknown[] => receiver.deliveries.map(({ body }) => body.data['former_user_id']);
    await until(() => new Set(idsOf()).size >= merged.length);
    expect(idsOf()).toEqual(merged);
    expect(receiver.repeats).toBe(0);
    expect(receiver.invalid).toEqual([]);
  });
});
