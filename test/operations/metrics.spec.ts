import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import request from 'supertest';
import { systemOrigin } from '../../src/audit/audit-event.js';
import { AuditRefusals } from '../../src/audit/audit-refusals.js';
import { Events } from '../../src/platform/events.js';
import { watchProcess } from '../../src/operations/metrics/process-metrics.js';
import { Removal } from '../../src/operations/removal/removal.js';
import { bearer, beginSignIn, signIn } from '../support/sign-in.js';
import { EventStreamReader } from '../support/event-stream.js';
import { Scrape } from '../support/scrape.js';
import { SocketClient } from '../support/socket-client.js';
import { until } from '../support/waiting.js';
import { prepare, use, useService } from '../support/use.js';

/** Of ten different requests. */
const ROUNDS = 8;
const READ = 'the-key-of-the-right-to-read-and-no-other';
const PUSH = 'the-key-of-the-right-to-push-and-no-other';
const DURATION = 'latchkey_http_request_duration_seconds';

/** `GET /metrics` in production, after some traffic. docs/metrics.md, the dashboard and the alerts name its metrics. */
describe('metrics', () => {
  beforeAll(() => watchProcess());
  const { provider, service } = useService({
    NODE_ENV: 'production',
    RATE_LIMIT: 'off',
    REDIRECT_URIS: 'https://app.example/cb',
    SERVICE_KEYS: `read:${READ},push:${PUSH}`,
  });
  const tokens = prepare(() => signIn(service.url, 'ada', { device_id: randomUUID() }));
  const socket = use(() => SocketClient.connect(service.url, tokens.access_token, { offset: 0 }));
  beforeAll(async () => {
    await bearer(service.url, tokens.access_token).get('/me').expect(200);
    await request(service.url).post('/oauth2/refresh').send(tokens).expect(200);
    await bearer(service.url, PUSH).post('/push', { user_id: tokens.user_id, event: 'greeting' }).expect(202);
    await socket.next('greeting');
    await service.app.get(Removal).run();
    const events = service.app.get(Events); // which one instance without traffic does not emit
    events.emit('notification.received', { kind: 'event' });
    const signOut = { event: 'sign_out', result: 'ok', actor: { type: 'user' } } as const;
    events.emit('audit.recorded', [{ ...signOut, id: randomUUID() }]);
    events.emit('rate_limit.exceeded', { limit: 'token', address: '192.0.2.1' });
  });

  const scrape = async (): Promise<Scrape> =>
    new Scrape((await bearer(service.url, READ).get('/metrics').expect(200)).text);

  it('are text that is not cached, whatever the query; in production they need a key with the right read', async () => {
    const { headers, text } = await bearer(service.url, READ).get('/metrics?a=1&a[]=%FF&name[]=').expect(200);
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(headers['cache-control']).toBe('no-store');
    expect(text.endsWith('\n')).toBe(true);
    await request(service.url).get('/metrics').expect(401);
    await bearer(service.url, PUSH).get('/metrics').expect(403);
    await bearer(service.url, READ).post('/metrics').expect(405);
  });

  it('count sign-ins and calls of providers by configured names, and failures by reason', async () => {
    const before = await scrape();
    await request(service.url)
      .post('/oauth2/token')
      .send({ code: 'c', state: 'ab'.repeat(32) })
      .expect(401);
    provider.answerWith(400, { error: 'invalid_grant' });
    const state = await beginSignIn(service.url);
    await request(service.url).post('/oauth2/token').send({ code: 'c', state }).expect(401);
    provider.reset();
    await request(service.url).post('/oauth2/refresh').send({ refresh_token: 'x' }).expect(401);
    const event = { id: randomUUID(), event: 'sign_in', result: 'ok', actor: { type: 'user' } } as const;
    service.app.get(Events).emit('audit.recorded', [{ ...event, provider: 'removed-since' }]);
    const after = await scrape();
    const more = (name: string, labels: Record<string, string>) =>
      (after.sum(name, labels) ?? 0) - (before.sum(name, labels) ?? 0);
    expect(before.sum('latchkey_sign_ins_total', { provider: 'stub' })).toBe(1);
    expect([before.sum('latchkey_users'), before.sum('latchkey_live_sessions')]).toEqual([1, 1]);
    expect(before.sum('latchkey_audit_events_total', { event: 'sign_in' })).toBe(1);
    expect(more('latchkey_audit_events_total', { event: 'sign_in_refused' })).toBe(2);
    expect(more('latchkey_sign_ins_total', { provider: 'none' })).toBe(1);
    const reason = 'invalid_grant';
    expect(more('latchkey_sign_ins_refused_total', { provider: 'none', reason })).toBe(1);
    expect(more('latchkey_sign_ins_refused_total', { provider: 'stub', reason })).toBe(1);
    expect(more('latchkey_refreshes_refused_total', { reason })).toBe(1);
    const exchange = { provider: 'stub', operation: 'exchange' };
    const asked = 'latchkey_provider_request_duration_seconds_count';
    expect(more(asked, { ...exchange, outcome: reason })).toBe(1);
    expect(before.sum(asked, { ...exchange, outcome: 'ok' })).toBe(1);
  });

  it('count the events of a flood that the audit trail leaves out', async () => {
    const before = (await scrape()).sum('latchkey_audit_events_left_out_total')!;
    const trail = service.app.get(AuditRefusals);
    for (let i = 0; i < 1000; i++) trail.refused({ event: 'refresh_refused', origin: systemOrigin() });
    expect((await scrape()).sum('latchkey_audit_events_left_out_total')! - before).toBeGreaterThanOrEqual(
      200,
    );
    expect((await scrape()).sum('latchkey_webhook_delay_seconds')).toBe(0);
  });

  it('are there without the counts of the database if it cannot count', async () => {
    service.app
      .get(Events)
      .once('total.requested', (tell) => tell('users', Promise.reject(new Error('away'))));
    const now = await scrape();
    expect([now.sum('latchkey_users'), now.sum('latchkey_ready')]).toEqual([NaN, 1]);
  });

  it('count sockets, events and pages of history', async () => {
    const now = await scrape();
    expect(now.sum('latchkey_sockets')).toBe(1);
    expect(now.sum('latchkey_connected_users')).toBe(1);
    expect(now.sum('latchkey_channel_events_total', { source: 'push', kept: 'yes' })).toBe(1);
    expect(now.sum('latchkey_channel_events_total', { source: 'service', kept: 'yes' })).toBe(1);
    expect(now.sum('latchkey_deliveries_total')).toBe(2);
    expect(now.sum('latchkey_history_read_size_count')).toBe(1);
    expect(now.sum('latchkey_hints_sent_total', { outcome: 'ok' })).toBe(2);
    expect(now.sum('latchkey_hints_up')).toBe(1);
    await SocketClient.open(service.url, { token: 'x' }).refusal();
    const other = await SocketClient.connect(service.url, tokens.access_token);
    other.close();
    await until(
      async () => (await scrape()).sum('latchkey_sockets_closed_total', { reason: 'client' }) === 1,
    );
    const then = await scrape();
    expect(then.sum('latchkey_sockets')).toBe(1);
    expect(then.sum('latchkey_socket_handshakes_total', { outcome: 'invalid_token' })).toBe(1);
    expect(then.sum('latchkey_socket_handshakes_total', { outcome: 'ok' })).toBe(2);
  });

  it('report batched statements, the pool, the removal and the signing key', async () => {
    const now = await scrape();
    for (const statement of ['refresh', 'state-save', 'state-consume', 'access-token', 'history-state'])
      expect([statement, now.sum('latchkey_database_batch_size_count', { statement })]).toEqual([
        statement,
        expect.any(Number),
      ]);
    expect(now.sum('latchkey_database_connections_max')).toBe(10);
    expect(now.sum('latchkey_database_connections')).toBeGreaterThan(0);
    const removed = now.sum('latchkey_removal_last_success_timestamp_seconds', { table: 'access_tokens' });
    expect(removed).toBeGreaterThan(Date.now() / 1000 - 600);
    expect(now.sum('latchkey_signing_key_active_timestamp_seconds')).toBeGreaterThan(Date.now() / 1000 - 600);
    expect(now.sum('latchkey_ready')).toBe(1);
  });

  it('know a request by its route, also if its body is refused', async () => {
    const counts = async (): Promise<string[]> => {
      const { samples } = await scrape();
      return samples
        .filter(({ name, labels }) => name === `${DURATION}_count` && labels['route'] !== '/metrics')
        .map(({ labels: { method, route, status }, value }) => `${method} ${route} ${status} ${value}`);
    };
    const before = new Set(await counts());
    const devices = bearer(service.url, tokens.access_token);
    await devices.patch(`/devices/${randomUUID()}`, { device_name: 'x' }).expect(404);
    await request(service.url).post('/oauth2/revoke').type('json').send('{').expect(400);
    await request(service.url).delete('/oauth2/revoke').expect(405);
    await request(service.url).options('/oauth2/revoke').expect(204);
    await request(service.url).head('/health/live').expect(200);
    await request(service.url).get('/nothing').expect(404);
    const stream = await EventStreamReader.open(service.url, READ);
    await until(() => stream.isReady);
    expect((await scrape()).sum('latchkey_ended_session_streams')).toBe(1);
    stream.close();
    await until(async () => (await scrape()).sum('latchkey_ended_session_streams') === 0);
    expect((await counts()).filter((line) => !before.has(line)).toSorted()).toEqual([
      'DELETE none 405 1',
      'GET none 404 1',
      'HEAD /health/live 200 1',
      'OPTIONS none 204 1',
      'PATCH /devices/:device_id 404 1',
      'POST /oauth2/revoke 400 1',
    ]);
  });

  describe('are named where people look for them', () => {
    const read = (name: string): string =>
      readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
    /** Of metrics of ours, of Node.js and of the process, as they stand in queries. */
    const namesIn = (text: string): string[] => [
      ...new Set([...text.matchAll(/\b(?:latchkey|nodejs|process)_[a-z0-9_]+/g)].map(([name]) => name)),
    ];

    it('docs/metrics.md has exactly those of the service, each with type, labels and meaning', async () => {
      const now = await scrape();
      const rows = [...now.type]
        .filter(([name]) => name.startsWith('latchkey_'))
        .map(([name, type]) => {
          const labels = now.labelsOf(name).map((label) => `\`${label}\``);
          return `| \`${name}\` | ${type} | ${labels.join(', ')} | ${now.help.get(name)} |`;
        });
      const [, table = ''] =
        /<!-- metrics:start -->\n\n(.*?)\n\n<!-- metrics:end -->/s.exec(read('metrics.md')) ?? [];
      const documented = table
        .split('\n')
        .slice(2)
        .map((row) => row.replace(/ +/g, ' '));
      expect(documented).toEqual(rows.toSorted().map((row) => row.replace(/ +/g, ' ')));
    });

    it('docs/ name no other', async () => {
      const now = await scrape();
      const known = new Set([...now.names, ...now.type.keys()]);
      for (const file of ['grafana-dashboard.json', 'alerts.yml', 'metrics.md']) {
        const names = namesIn(read(file));
        expect(names.length).toBeGreaterThan(15);
        expect([file, names.filter((name) => !known.has(name))]).toEqual([file, []]);
      }
    });

    it('the dashboard shows each of them', async () => {
      const shown = namesIn(read('grafana-dashboard.json')).map((name) =>
        name.replace(/_(bucket|sum|count)$/, ''),
      );
      const ours = [...(await scrape()).type.keys()].filter((name) => name.startsWith('latchkey_'));
      expect(ours.filter((name) => !shown.includes(name))).toEqual([]);
    });
  });

  it(`have no more series after ${ROUNDS * 10} requests that try for it`, async () => {
    const port = Number(new URL(service.url).port);
    const hostile = async (round: number): Promise<void> => {
      const odd = `${round}-${randomUUID()}`;
      const call = (method: string, path: string, headers: Record<string, string> = {}, body?: object) =>
        fetch(service.url + path, {
          method,
          headers: { 'Content-Type': 'application/json', ...headers },
          ...(body && { body: JSON.stringify(body) }),
        }).then((answer) => answer.text());
      await call('GET', `/oauth2/authorize?provider=no-${odd}`);
      await call('GET', `/oauth2/authorize/${odd}`, { Origin: `https://${odd}.example` });
      await call('GET', `/devices/${odd}?route=${odd}`, { Authorization: `Bearer ${odd}` });
      await call('PATCH', `/devices/${odd}%FF`, {}, { odd });
      await call('POST', '/oauth2/token', {}, { code: odd, state: randomBytes(32).toString('hex') });
      await call('POST', '/oauth2/refresh', {}, { refresh_token: odd, provider: odd });
      await call('POST', '/oauth2/revoke', { 'Content-Type': `application/${odd}` }, { odd });
      const pushed = { user_id: tokens.user_id, event: `event.${odd}`, ttl: 0 };
      await call('POST', '/push', { Authorization: `Bearer ${PUSH}` }, pushed);
      await call('PROPFIND', `/${odd}`);
      const raw = connect(port, '127.0.0.1').on('error', () => undefined);
      raw.end(`M${round} /${odd} HTTP/1.1\r\nHost: x\r\n\r\n`).resume();
      await once(raw, 'close');
    };
    // But for what a busy machine may cause: failures of the database, and clients that did not wait.
    const series = async (): Promise<string[]> =>
      (await scrape()).samples
        .filter(
          ({ name, labels }) =>
            name.startsWith('latchkey_') && !/^(5..|aborted)$/.test(labels['status'] ?? ''),
        )
        .map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`);
    const rounds = Array.from({ length: ROUNDS }, (_, round) => round);
    await hostile(-1);
    const before = new Set(await series());
    const lanes = [0, 1, 2, 3].map(async (lane) => {
      for (const round of rounds.filter((one) => one % 4 === lane)) await hostile(round);
    });
    await Promise.all(lanes);
    const then = await scrape();
    expect(then.sum('latchkey_http_unreadable_requests_total')).toBeGreaterThanOrEqual(ROUNDS);
    expect((await series()).filter((one) => !before.has(one))).toEqual([]);
    const values = new Set(then.samples.flatMap(({ labels }) => Object.values(labels)));
    for (const value of values) expect(value).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}|PROPFIND/);
  });
});
