import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Events } from '../../src/platform/events.js';
import { writeEvents } from '../support/audit-events.js';
import { createDatabase, query, unhurried } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { startTestService, type TestService } from '../support/service.js';
import { bearer, signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { WEBHOOK_EVENTS, WEBHOOK_SECRET, WebhookReceiver } from '../support/webhook-receiver.js';
import { useEach } from '../support/use.js';

const OTHER_SECRET = `whsec_${Buffer.alloc(24, 8).toString('base64')}`;

/** Webhooks (docs/webhooks.md#webhooks) of one instance; test/audit/webhook-kills.spec.ts kills instances. */
describe('webhooks', () => {
  let service: TestService | undefined;
  afterEach(async () => {
    await service?.close();
    service = undefined;
  });
  const database = useEach(() => createDatabase());
  const receiver = useEach(() => WebhookReceiver.start());

  const sql = <Row extends object>(text: string) => query<Row>(database.url, text);
  const exists = async (rows: string): Promise<boolean> => (await sql(`SELECT FROM ${rows}`)).length > 0;
  const write = (count = 1, event?: string) => writeEvents(database.url, count, event);
  const logged = (part: string): boolean => service!.log.some((line) => line.includes(part));
  async function start(env: Record<string, string> = {}): Promise<void> {
    service = await startTestService({
      WEBHOOK_URLS: receiver.url,
      WEBHOOK_SECRET,
      WEBHOOK_EVENTS,
      ...env,
      DATABASE_URL: unhurried(database.url),
    });
    const { length } = (env['WEBHOOK_URLS'] ?? receiver.url).split(',');
    await until(async () => (await sql('SELECT FROM webhooks WHERE held_until > now()')).length === length);
  }

  it('sends each event of WEBHOOK_EVENTS once, in order, signed, as the stream has it', async () => {
    const provider = await StubProvider.start();
    try {
      await write(2);
      await sql(`UPDATE audit_events SET at = at - interval '1 minute'`);
      await start({ ...provider.env(), WEBHOOK_EVENTS: 'sign_in,sign_out,device_renamed' });
      const ids = await write(110); // more than a page
      await write(1, 'sign_in_refused');
      ids.push(...(await write(1, 'sign_out')));
      await until(() => receiver.firsts.length >= ids.length);
      expect(receiver.ids).toEqual(ids); // not those from before the address was added
      const { id, body, headers } = receiver.deliveries.at(-1)!;
      expect(body).toEqual({
        type: 'sign_out',
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        data: {
          id,
          at: body.timestamp,
          event: 'sign_out',
          result: 'ok',
          user_id: expect.any(String),
          actor: { type: 'user', name: body.data['user_id'] },
        },
      });
      expect(headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'Latchkey' });
      expect(receiver.sockets.size).toBe(1); // kept alive

      const device_id = randomUUID();
      const { access_token, user_id } = await signIn(service!.url, randomUUID(), { device_id });
      const renamed = { device_name: 'x' };
      await bearer(service!.url, access_token).patch(`/devices/${device_id}`).send(renamed).expect(200);
      const [last] = await write(1, 'sign_in_refused');
      await until(() => exists(`webhooks WHERE position LIKE '%${last}'`));
      const more = receiver.deliveries.slice(ids.length);
      expect(more.map((one) => [one.body.type, one.body.data['user_id']])).toEqual([
        ['sign_in', user_id],
        ['device_renamed', user_id],
      ]);
      const news = { reason: 'first sign-in', new_device: true, new_network: true };
      expect(more[0]!.body.data).toMatchObject(news);
      expect(receiver.invalid).toEqual([]);
    } finally {
      await provider.close();
    }
  });

  it('several addresses do not wait for each other, and share one connection of the database', async () => {
    const REFUSALS: readonly WebhookReceiver['answer'][] = [
      (response) => response.writeHead(500).end(),
      (response) => response.writeHead(404).end('{"error":"x"}'),
      (response) => response.writeHead(301, { Location: receiver.url }).end(),
      (response) => response.destroy(),
      (response) => void response.socket!.end('220 smtp\r\n'),
      (response) => {
        response.writeProcessing(); // an interim answer, and no other
        setTimeout(() => response.destroy(), 100).unref();
      },
    ];
    const refusing = await Promise.all(REFUSALS.map(() => WebhookReceiver.start()));
    for (const [i, one] of refusing.entries()) {
      one.answer = (response, delivery) => {
        if (one.ids.length <= 2) REFUSALS[i]!(response, delivery);
        else response.writeHead(204).end();
      };
    }
    const [slow, endless, other, absent] = await Promise.all(
      Array.from({ length: 4 }, () => WebhookReceiver.start()),
    );
    slow!.answer = () => undefined;
    let written = 0;
    endless!.answer = (response) => {
      response.writeHead(200, { 'Content-Length': 2 ** 30 });
      const piece = Buffer.alloc(64 * 1024);
      const more = (): void => {
        while (!response.destroyed && response.write(piece)) written += piece.length;
      };
      response.on('drain', more).on('error', () => undefined);
      more();
    };
    other!.secret = OTHER_SECRET;
    await absent!.close();
    const receivers = [...refusing, slow!, endless!, other!];
    const [, code = ''] = /```js\n([^]*?)```/.exec(readFileSync('docs/webhooks.md', 'utf8')) ?? [];
    expect(code.trim().split('\n').length).toBeLessThanOrEqual(18);
    const port = await freePort();
    const example = spawn(
      process.execPath,
      ['--input-type=module', '--eval', code.replace('4000', String(port))],
      { env: { WEBHOOK_SECRET }, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    let output = '';
    example.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    try {
      const urls = [absent!.url, `http://127.0.0.1:${port}`, ...receivers.map(({ url }) => url)];
      await start({
        WEBHOOK_URLS: urls.join(','),
        WEBHOOK_SECRET: `${OTHER_SECRET},${WEBHOOK_SECRET}`,
        DATABASE_POOL_SIZE: '1',
      });
      const ids = await write(3);

      // An event that is not accepted is sent again, and no later one before it.
      for (const one of refusing) {
        await until(() => one.firsts.length === 3);
        expect(one.ids).toEqual([ids[0], ids[0], ids[0], ids[1], ids[2]]);
      }
      expect(receiver.ids).toEqual([]); // where the redirect leads

      await until(() => logged(`Webhook 1 (127.0.0.1:${absent!.port}) does not accept events: `));
      const back = await WebhookReceiver.start(absent!.port);
      receivers.push(back);
      await until(() => back.ids.length >= 3 && logged(`(127.0.0.1:${back.port}) accepts events again`));
      expect(back.ids).toEqual(ids);
      expect(logged('/hook')).toBe(false); // a path may be secret

      await until(() => endless!.ids.length >= 3);
      expect(endless!.ids).toEqual(ids);
      expect(written).toBeLessThan(3 * 20 * 2 ** 20); // buffers of the kernel

      await until(() => other!.ids.length >= 3);
      expect(other!.deliveries[0]!.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
      expect(slow!.ids).toEqual(ids.slice(0, 1));

      await until(() => output.split('\n').length > 3);
      expect(output).toMatch(/^(sign_in [\da-f-]{36}\n){3}$/);
      const forged = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: '{}' });
      expect(forged.status).toBe(400);
    } finally {
      example.kill();
      await Promise.all(receivers.map((one) => one.close()));
    }
  });

  it('after 3 days an address is paused, with an event; each hour, and the start of an instance, tries again', async () => {
    receiver.answer = (response) => response.writeHead(500).end();
    await start();
    const [first] = await write(2);
    await until(() => receiver.ids.length > 0);
    await sql(
      `UPDATE webhooks SET failing_since = now() - interval '3 days' WHERE failing_since IS NOT NULL`,
    );
    await until(() => exists('webhooks WHERE paused_at IS NOT NULL'));
    const events = await sql<{ reason: string; actor_type: string; result: string }>(
      `SELECT reason, actor_type, result FROM audit_events WHERE event = 'webhook_paused'`,
    );
    const reason = `Webhook 1 (127.0.0.1:${receiver.port}) does not accept events: status 500.`;
    expect(events).toEqual([{ reason, actor_type: 'system', result: 'ok' }]);
    expect(logged('It is paused after 3 days')).toBe(true);
    const attempts = receiver.ids.length;

    await service!.close();
    await start();
    await until(() => receiver.ids.length > attempts);
    await until(() => logged('It stays paused'));
    expect(new Set(receiver.ids)).toEqual(new Set([first]));
    expect((await sql(`SELECT FROM audit_events WHERE event = 'webhook_paused'`)).length).toBe(1);

    const isInAnHour = `retry_at > now() + interval '50 minutes' AND retry_at < now() + interval '70 minutes'`;
    await until(() => exists(`webhooks WHERE ${isInAnHour}`));
    receiver.answer = (response) => response.writeHead(200).end();
    await sql(`UPDATE webhooks SET retry_at = now()`);
    await until(() => receiver.firsts.length === 3); // with webhook_paused
    await until(() => exists('webhooks WHERE paused_at IS NULL AND attempts = 0'));
  });

  it.each([
    [429, '1800', 1800],
    [503, '999999', 3600],
    [503, new Date(Date.now() + 1_200_000).toUTCString(), 1200],
    [429, 'soon', 1],
    [500, '1800', 1], // without a meaning there
  ])('after %i with Retry-After %s, the next attempt is in %i s', async (status, retryAfter, seconds) => {
    receiver.answer = (response) => response.writeHead(status, { 'Retry-After': retryAfter }).end();
    await start();
    await write();
    await until(() => exists('webhooks WHERE attempts > 0'));
    const [row] = await sql<{ wait: number }>(
      `SELECT extract(epoch FROM retry_at - failing_since)::float8 AS wait FROM webhooks`,
    );
    expect(row!.wait).toBeGreaterThan(seconds * 0.7 - 60 * Number(seconds > 60));
    expect(row!.wait).toBeLessThan(seconds + 60);
  });

  it('after 410 the address is paused at once, with an event; after an accepted attempt it goes on', async () => {
    receiver.answer = (response) => response.writeHead(410).end();
    await start();
    const [id] = await write();
    await until(() =>
      exists(`webhooks WHERE paused_at IS NOT NULL AND retry_at > now() + interval '50 minutes'`),
    );
    expect(receiver.ids).toEqual([id]);
    expect(await exists(`audit_events WHERE event = 'webhook_paused' AND reason LIKE '%status 410.'`)).toBe(
      true,
    );
    expect(logged('It is paused, and tried once an hour')).toBe(true);
    receiver.answer = (response) => response.writeHead(204).end();
    await sql('UPDATE webhooks SET retry_at = now()');
    await until(() => exists('webhooks WHERE paused_at IS NULL AND attempts = 0'));
  });

  it('a position outlives a stop, which waits for an answer, and other settings; an unused address goes', async () => {
    const unused = await WebhookReceiver.start();
    try {
      await start({ WEBHOOK_URLS: `${receiver.url},${unused.url}` });
      receiver.answer = (response) => void setTimeout(() => response.writeHead(204).end(), 300).unref();
      const ids = await write(2);
      await until(() => receiver.ids.length > 0);
      await service!.close();

      const hash = createHash('sha256').update(unused.url).digest('hex');
      await sql(
        `UPDATE webhooks SET held_until = now() - interval '11 minutes' WHERE address_hash = '\\x${hash}'`,
      );
      service = await startTestService({ DATABASE_URL: unhurried(database.url) });
      await until(async () => (await sql('SELECT FROM webhooks')).length === 1);
      ids.push(...(await write()));
      await service.close();

      await start();
      await until(() => receiver.ids.length >= 3);
      expect(receiver.ids).toEqual(ids);
    } finally {
      await unused.close();
    }
  });

  it('reports its delay; after the database’s clock was set back, new events are sent, and none is left out', async () => {
    receiver.answer = (response) => response.writeHead(500).end();
    await start();
    const ids = await write();
    await until(() => receiver.ids.length > 0);
    await sql(`UPDATE audit_events SET at = at - interval '1 hour'`);
    await sql(`UPDATE webhooks SET position = '1-00000000-0000-0000-0000-000000000000'`);
    const delay = (): number | undefined => {
      let found: number | undefined;
      service!.app.get(Events).emit('state.requested', ({ webhookDelay }) => void (found ??= webhookDelay));
      return found;
    };
    await until(() => delay()! > 3500);
    expect(delay()).toBeLessThan(3700);
    receiver.answer = (response) => response.writeHead(204).end();
    await until(() => delay()! < 60);

    const now = '(extract(epoch FROM now()) * 1000000)::bigint';
    await sql(`UPDATE audit_events SET at = now() + interval '1 hour'`);
    await sql(`UPDATE webhooks SET position = ${now} + 3600000000 || '-${ids[0]}'`);
    await until(() => exists(`webhooks WHERE position < (${now})::text`));
    ids.push(...(await write()));
    await until(() => receiver.firsts.length === 2);
    expect(receiver.firsts).toEqual(ids);
    expect(receiver.ids.at(-1)).toBe(ids[1]);
  });
});
