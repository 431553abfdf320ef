import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Events } from '../../src/events.js';
import { writeEvents } from '../support/audit-events.js';
import { createDatabase, query, unhurried, type TestDatabase } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { startServiceProcess } from '../support/service-process.js';
import { startTestService, type TestService } from '../support/service.js';
import { bearer, signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { WEBHOOK_EVENTS, WEBHOOK_SECRET, WebhookReceiver } from '../support/webhook-receiver.js';

/** Webhooks (contract §9) of one instance; test/audit/webhook-kills.spec.ts kills instances. */
describe('webhooks', () => {
  let database: TestDatabase;
  let receiver: WebhookReceiver;
  let service: TestService | undefined;
  beforeEach(async () => {
    database = await createDatabase();
    receiver = await WebhookReceiver.start();
  });
  afterEach(async () => {
    await service?.close();
    service = undefined;
    await receiver.close();
    await database.drop();
  });

  const sql = <Row extends object>(text: string) => query<Row>(database.url, text);
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
    await isHeld((env['WEBHOOK_URLS'] ?? receiver.url).split(',').length);
  }
  async function isHeld(count: number): Promise<void> {
    await until(async () => (await sql('SELECT FROM webhooks WHERE held_until > now()')).length === count);
  }
  async function restart(env: Record<string, string> = {}): Promise<void> {
    await service!.close();
    await start(env);
  }

  it('sends each event once, in order, signed, as the stream has it', async () => {
    await write(2);
    await sql(`UPDATE audit_events SET at = at - interval '1 minute'`);
    await start();
    const ids = [...(await write(300)), ...(await write(1, 'sign_out'))];
    await until(() => receiver.firsts.length >= ids.length);
    expect(receiver.ids).toEqual(ids); // not those from before the address was added
    expect(receiver.invalid).toEqual([]);
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
  });

  it('sends what the service writes: a sign-in, and then a new name of its device', async () => {
    const provider = await StubProvider.start();
    try {
      await start({ ...provider.env(), WEBHOOK_EVENTS: 'sign_in,device_renamed' });
      const device_id = randomUUID();
      const { access_token, user_id } = await signIn(service!.url, randomUUID(), { device_id });
      await bearer(service!.url, access_token)
        .patch(`/devices/${device_id}`)
        .send({ device_name: 'x' })
        .expect(200);
      await until(() => receiver.ids.length >= 2);
      expect(receiver.deliveries.map(({ body }) => [body.type, body.data['user_id']])).toEqual([
        ['sign_in', user_id],
        ['device_renamed', user_id],
      ]);
    } finally {
      await provider.close();
    }
  });

  it('the receiver of docs/webhooks.md takes each event once, and refuses a forged one', async () => {
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
      await start({ WEBHOOK_URLS: `http://127.0.0.1:${port}` });
      await write(3);
      await until(() => output.split('\n').length > 3);
      expect(output).toMatch(/^(sign_in [\da-f-]{36}\n){3}$/);
      const forged = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: '{}' });
      expect(forged.status).toBe(400);
    } finally {
      example.kill();
    }
  });

  it('sends only the events of WEBHOOK_EVENTS', async () => {
    await start({ WEBHOOK_EVENTS: 'sign_out,sign_in_refused' });
    await write(3);
    const wanted = [...(await write(1, 'sign_out')), ...(await write(1, 'sign_in_refused'))];
    const [last] = await write();
    await until(() => receiver.ids.length >= 2);
    await until(async () => (await sql(`SELECT FROM webhooks WHERE position LIKE '%${last}'`)).length > 0);
    expect(receiver.ids).toEqual(wanted);
  });

  describe('an event that is not accepted is sent again, and no later one before it', () => {
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

    it('500, 404, a redirect, a closed connection, no HTTP, an interim answer', async () => {
      const refusing = await Promise.all(REFUSALS.map(() => WebhookReceiver.start()));
      for (const [i, one] of refusing.entries()) {
        one.answer = (response, delivery) => {
          if (one.ids.length <= 2) REFUSALS[i]!(response, delivery);
          else response.writeHead(204).end();
        };
      }
      try {
        await start({ WEBHOOK_URLS: refusing.map(({ url }) => url).join(',') });
        const ids = await write(3);
        for (const one of refusing) {
          await until(() => one.firsts.length === 3);
          expect(one.ids).toEqual([ids[0], ids[0], ids[0], ids[1], ids[2]]);
        }
        expect(receiver.ids).toEqual([]);
      } finally {
        await Promise.all(refusing.map((one) => one.close()));
      }
    });

    it('a receiver that is down; then all goes on without a gap', async () => {
      const { port } = receiver;
      await receiver.close();
      await start();
      const ids = await write(3);
      await until(() => logged('does not accept events: '));
      const [row] = await sql<{ attempts: number }>('SELECT attempts FROM webhooks');
      expect(row!.attempts).toBeGreaterThanOrEqual(2);
      receiver = await WebhookReceiver.start(port);
      await until(() => receiver.ids.length >= 3);
      expect(receiver.ids).toEqual(ids);
      await until(() => logged('accepts events again'));
      expect(logged('/hook')).toBe(false); // a path may be secret
    });
  });

  it('2xx counts, whatever follows: an answer of 1 GB is not read', async () => {
    let written = 0;
    receiver.answer = (response) => {
      response.writeHead(200, { 'Content-Length': 2 ** 30 });
      const piece = Buffer.alloc(64 * 1024);
      const more = (): void => {
        while (!response.destroyed && response.write(piece)) written += piece.length;
      };
      response.on('drain', more).on('error', () => undefined);
      more();
    };
    await start();
    const ids = await write(3);
    await until(() => receiver.ids.length >= 3);
    expect(receiver.ids).toEqual(ids);
    expect(written).toBeLessThan(3 * 20 * 2 ** 20); // buffers of the kernel
  });

  it('a slow address delays no other, and holds no connection of the database', async () => {
    const slow = await WebhookReceiver.start();
    slow.answer = () => undefined;
    try {
      await start({ WEBHOOK_URLS: `${slow.url},${receiver.url}`, DATABASE_POOL_SIZE: '1' });
      const ids = await write(20);
      await until(() => receiver.ids.length >= 20 && slow.ids.length === 1);
      expect(receiver.ids).toEqual(ids);
    } finally {
      await slow.close();
    }
  });

  it('with several secrets, receivers of each accept; a file is read again', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'webhooks-'));
    const file = join(directory, 'secret');
    const other = `whsec_${Buffer.alloc(24, 8).toString('base64')}`;
    writeFileSync(file, `${WEBHOOK_SECRET},${other}\n`);
    try {
      const process = await startServiceProcess({
        WEBHOOK_URLS: receiver.url,
        WEBHOOK_SECRET_FILE: file,
        WEBHOOK_EVENTS,
        DATABASE_URL: unhurried(database.url),
      });
      await isHeld(1);
      await write();
      await until(() => receiver.ids.length === 1);
      receiver.secret = other;
      await write();
      await until(() => receiver.ids.length === 2);
      expect(receiver.deliveries[1]!.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
      writeFileSync(file, other);
      await until(async () => {
        await write();
        return !String(receiver.deliveries.at(-1)!.headers['webhook-signature']).includes(' ');
      });
      expect(receiver.invalid).toEqual([]);
      expect(await process.end('SIGTERM')).toBe(0);
    } finally {
      rmSync(directory, { recursive: true });
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
    await until(async () => (await sql('SELECT FROM webhooks WHERE paused_at IS NOT NULL')).length > 0);
    const events = await sql<{ reason: string; actor_type: string; result: string }>(
      `SELECT reason, actor_type, result FROM audit_events WHERE event = 'webhook_paused'`,
    );
    const reason = `Webhook 1 (127.0.0.1:${receiver.port}) does not accept events: status 500.`;
    expect(events).toEqual([{ reason, actor_type: 'system', result: 'ok' }]);
    expect(logged('It is paused after 3 days')).toBe(true);
    const attempts = receiver.ids.length;

    await restart();
    await until(() => receiver.ids.length > attempts);
    await until(() => logged('It stays paused'));
    expect(new Set(receiver.ids)).toEqual(new Set([first]));
    expect((await sql(`SELECT FROM audit_events WHERE event = 'webhook_paused'`)).length).toBe(1);

    const isInAnHour = `retry_at > now() + interval '50 minutes' AND retry_at < now() + interval '70 minutes'`;
    await until(async () => (await sql(`SELECT FROM webhooks WHERE ${isInAnHour}`)).length > 0);
    receiver.answer = (response) => response.writeHead(200).end();
    await sql(`UPDATE webhooks SET retry_at = now()`);
    await until(() => receiver.firsts.length === 3); // with webhook_paused
    await until(
      async () => (await sql('SELECT FROM webhooks WHERE paused_at IS NULL AND attempts = 0')).length > 0,
    );
  });

  it('a removed address goes; a new one begins now', async () => {
    await start();
    await write();
    await until(() => receiver.ids.length === 1);
    await service!.close();
    await sql(`UPDATE webhooks SET held_until = now() - interval '11 minutes'`);
    await write();
    await sql(`UPDATE audit_events SET at = at - interval '1 minute'`);
    const other = await WebhookReceiver.start();
    try {
      await start({ WEBHOOK_URLS: other.url });
      await until(async () => (await sql('SELECT FROM webhooks')).length === 1);
      const ids = await write();
      await until(() => other.ids.length > 0);
      expect(other.ids).toEqual(ids);
    } finally {
      await other.close();
    }
  });

  it('an instance with other settings leaves the position of an address that was in use', async () => {
    await start();
    await write();
    await until(() => receiver.ids.length === 1);
    await service!.close();
    const missed = await write();
    service = await startTestService({ DATABASE_URL: unhurried(database.url) });
    await service.close();
    await start();
    await until(() => receiver.ids.length === 2);
    expect(receiver.ids[1]).toBe(missed[0]);
  });

  it('after the database’s clock was set back, new events are sent; none is left out', async () => {
    await start();
    const old = await write();
    await until(() => receiver.ids.length === 1);
    await sql(`UPDATE audit_events SET at = at + interval '1 hour'`);
    await sql(
      `UPDATE webhooks SET position = (extract(epoch FROM now() + interval '1 hour') * 1000000)::bigint || '-${old[0]}'`,
    );
    await until(
      async () =>
        (await sql(`SELECT FROM webhooks WHERE position < (extract(epoch FROM now()) * 1000000)::text`))
          .length > 0,
    );
    const ids = await write();
    await until(() => receiver.ids.length === 2);
    expect(receiver.ids).toEqual([...old, ...ids]);
  });

  it('a stop waits for the answer to the delivery in progress', async () => {
    await start();
    receiver.answer = (response) => void setTimeout(() => response.writeHead(204).end(), 300).unref();
    await write(2);
    await until(() => receiver.ids.length === 1);
    await restart();
    await until(() => receiver.ids.length >= 2);
    expect(receiver.repeats).toBe(0);
  });

  it('reports its delay', async () => {
    receiver.answer = (response) => response.writeHead(500).end();
    await start();
    await write();
    await until(() => receiver.ids.length > 0);
    await sql(`UPDATE audit_events SET at = at - interval '1 hour'`);
    await sql(`UPDATE webhooks SET position = '1-00000000-0000-0000-0000-000000000000'`);
    const delay = (): number | undefined => {
      let found: number | undefined;
      service!.app.get(Events).emit('state.asked', ({ webhookDelay }) => void (found ??= webhookDelay));
      return found;
    };
    await until(() => delay()! > 3500);
    expect(delay()).toBeLessThan(3700);
    receiver.answer = (response) => response.writeHead(204).end();
    await until(() => delay()! < 60);
  });
});
