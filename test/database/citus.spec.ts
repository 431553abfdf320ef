import { randomUUID } from 'node:crypto';
import { Client, type PoolClient } from 'pg';
import { DataSource, type QueryRunner } from 'typeorm';
import request from 'supertest';
import { AuditWalks } from '../../src/audit/search/audit-walks.js';
import type { AuditFilters } from '../../src/audit/search/audit.dto.js';
import { dataSourceOptions, poolOf } from '../../src/platform/database/pool/data-source.js';
import { MIGRATIONS } from '../../src/entities.js';
import { migrate } from '../../src/platform/database/start/migrate.js';
import { Removal } from '../../src/operations/removal/removal.js';
import { createCitusDatabase } from '../support/citus.js';
import { query } from '../support/database.js';
import { ClientKey } from '../support/dpop.js';
import { needs } from '../support/installed.js';
import { SERVICE_KEY as KEY, startTestService, type TestService } from '../support/service.js';
import { beginSignIn, signIn, type Tokens } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { use, useService } from '../support/use.js';

const coordinator = process.env['CITUS_URL'];

/** What the coordinator has sent to which node. */
interface Command {
  readonly text: string;
  readonly node: string;
}

/** Hears what the coordinator sends to the nodes for the connections of a service's pool. */
function listen(service: TestService): Command[] {
  const commands: Command[] = [];
  const heard = new WeakSet<PoolClient>();
  const pool = poolOf(service.app.get(DataSource));
  pool.on('acquire', (client: PoolClient) => {
    if (heard.has(client)) return;
    heard.add(client);
    client.on('notice', ({ message, detail }) => {
      const [, text] = /^issuing ([^]*)$/.exec(message ?? '') ?? [];
      const [, node] = /^on server (\S+)/.exec(detail ?? '') ?? [];
      // Every instance reads sign-outs and changes of claims, and writes presence, beside the requests.
      const isPoll =
        /signed_out_at OPERATOR.pg_catalog.>=|ROW.(?:claims_changed|voided)_at|presence|instances/.test(
          text ?? '',
        );
      if (text !== undefined && !isPoll) commands.push({ text, node: node! });
    });
  });
  return commands;
}

// The other tests run on a cluster as well: `npm run test:all -- citus`.
needs({ CITUS_URL: coordinator !== undefined }).describe('on a Citus cluster', () => {
  let commands: Command[];

  const database = use(() => createCitusDatabase(coordinator!));
  const { provider, service } = useService(() => {
    const url = new URL(database.url);
    const options = `${url.searchParams.get('options')} -c citus.log_remote_commands=on -c client_min_messages=log`;
    url.searchParams.set('options', options);
    return { DATABASE_URL: url.href, SERVICE_KEYS: KEY };
  });
  beforeAll(() => {
    commands = listen(service);
  });

  /** The commands of one request: begin and commit left out. */
  async function during(
    work: () => Promise<unknown>,
  ): Promise<{ statements: string[]; nodes: number; twoPhases: boolean }> {
    commands.length = 0;
    await work();
    const isFrame = /^(BEGIN|COMMIT|SELECT assign_distributed|SET )/i;
    return {
      statements: commands.filter(({ text }) => !isFrame.test(text)).map(({ text }) => text),
      nodes: new Set(commands.map(({ node }) => node)).size,
      twoPhases: commands.some(({ text }) => text.startsWith('PREPARE TRANSACTION')),
    };
  }

  const push = (userId: string, more: object = {}): request.Test =>
    request(service.url)
      .post('/push')
      .set('Authorization', `Bearer ${KEY}`)
      .send({ user_id: userId, event: 'e', ...more });

  it('each request of the hot paths is served by one node, each of its statements by one task', async () => {
    const tokens = await signIn(service.url, 'ada', { device_id: randomUUID() });
    const refresh = (): request.Test =>
      request(service.url).post('/oauth2/refresh').send({ refresh_token: tokens.refresh_token }).expect(200);
    const refreshed = await during(refresh);
    expect(refreshed).toMatchObject({ nodes: 1, twoPhases: false });
    expect(refreshed.statements).toHaveLength(2);

    const state = await beginSignIn(service.url);
    const exchange = await during(() =>
      request(service.url)
        .post('/oauth2/token')
        .send({ code: 'ada', state, device_id: randomUUID() })
        .expect(200),
    );
    expect(exchange.twoPhases).toBe(false);
    expect(exchange.statements).toHaveLength(12); // the state, which may be on another node, and 11 of the user

    const pushed = await during(() => push(tokens.user_id).expect(202));
    expect(pushed).toMatchObject({ nodes: 1, twoPhases: false });
    expect(pushed.statements).toHaveLength(3);

    const me = await during(() =>
      request(service.url).get('/me').set('Authorization', `Bearer ${tokens.access_token}`).expect(200),
    );
    expect(me).toMatchObject({ nodes: 1, statements: [expect.any(String), expect.any(String)] });

    const signOut = await during(() =>
      request(service.url)
        .post('/sign-out')
        .set('Authorization', `Bearer ${tokens.access_token}`)
        .expect(204),
    );
    expect(signOut).toMatchObject({ nodes: 1, twoPhases: false });
  });

  it('a batch of pushes is a transaction for each shard; a shard that fails is the error of its users', async () => {
    const batch = (userIds: string[], headers = {}) =>
      request(service.url)
        .post('/push/batch')
        .set({ Authorization: `Bearer ${KEY}`, ...headers })
        .send({ events: [{ user_ids: userIds, event: 'e' }] });
    const shardOf = async (userId: string): Promise<unknown> => {
      const sql = `SELECT get_shard_id_for_distribution_column('users', $1::uuid) AS shard`;
      return (await query(database.url, sql, [userId]))[0]!['shard'];
    };
    const users = await Promise.all(
      Array.from({ length: 12 }, async () => (await signIn(service.url)).user_id),
    );
    const shards = await Promise.all(users.map(shardOf));
    const sent = await during(() => batch(users).expect(200));
    expect(sent.twoPhases).toBe(false);
    // For each shard: offsets and events; the one that finds targets reads presence, and is not heard.
    expect(sent.statements).toHaveLength(new Set(shards).size * 2);

    const stuck = users.filter((_, i) => shards[i] === shards[0]);
    const holder = new Client(database.url);
    await holder.connect();
    try {
      await holder.query('BEGIN');
      await holder.query('UPDATE channels SET last_offset = 1 WHERE user_id = $1', [users[0]]);
      const { body } = await batch(users).expect(200); // after the time-out of a statement
      const { results } = body as { results: { offset?: number; error?: string }[] };
      expect(results.map(({ offset, error }) => error ?? offset)).toEqual(
        users.map((user) => (stuck.includes(user) ? 'server_error' : 2)),
      );
      const key = { 'Idempotency-Key': randomUUID() };
      await batch(users, key).expect(500); // all or nothing
      await holder.query('ROLLBACK');
      const again = (await batch(users, key).expect(200)).body as { results: { offset: number }[] };
      expect(again.results.map(({ offset }) => offset)).toEqual(
        users.map((user) => (stuck.includes(user) ? 2 : 3)),
      );
    } finally {
      await holder.end();
    }
  });

  it('with a proof, too', async () => {
    const key = new ClientKey();
    const { publicUrl } = service.settings;
    const state = await beginSignIn(service.url);
    const proof = key.proof(`${publicUrl}/oauth2/token`);
    const post = (path: string, header: string, body: object): request.Test =>
      request(service.url).post(path).set('DPoP', header).send(body);
    const { body } = await post('/oauth2/token', proof, { code: 'ada', state }).expect(200);
    const { refresh_token } = body as Tokens;
    const refresh = (header: string): request.Test => post('/oauth2/refresh', header, { refresh_token });
    const once = await during(() => refresh(key.proof(`${publicUrl}/oauth2/refresh`)).expect(200));
    expect(once).toEqual({ statements: [expect.any(String)], nodes: 1, twoPhases: false });
  });

  it('what has expired is removed, on all nodes, however much it is', async () => {
    const expired = (rows: number): Promise<unknown> =>
      query(
        database.url,
        `INSERT INTO access_tokens (user_id, jti, session_id, expires_at, token)
           SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now() - i * interval '1 ms', repeat('t', 600)
           FROM generate_series(1, $1) i`,
        [rows],
      );
    await expired(100_000);
    await query(
      database.url,
      `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at, signed_out_at)
         SELECT gen_random_uuid(), gen_random_uuid(), '\\x00', now() - interval '1 hour', now() - i * interval '40 minutes'
         FROM generate_series(0, 3) i`,
    );
    const past = `now() - interval '1 hour'`;
    await query(
      database.url,
      `INSERT INTO device_confirmations (secret_hash, request_id, provider, identity, requested_at, expires_at)
         VALUES ('\\x01', gen_random_uuid(), 'stub', '{}', now(), ${past});
       INSERT INTO device_requests (id, device_code_hash, user_code_hash, client_id, network, poll_interval, codes_expire_at, expires_at)
         VALUES (gen_random_uuid(), '\\x01', '\\x01', 'cli', '\\x01', 5, ${past}, ${past});
       INSERT INTO signal_accounts (subject, disabled, changed_at, expires_at) VALUES ('\\x01', false, ${past}, ${past});`,
    );
    const removed = await service.app.get(Removal).run();
    expect(removed).toMatchObject({
      access_tokens: 100_000,
      refresh_tokens: 2,
      device_confirmations: 1,
      device_requests: 1,
      signal_accounts: 1,
    });
    await until(async () => {
      const [row] = await query(
        database.url,
        'SELECT count(*)::int AS c FROM access_tokens WHERE expires_at < now()',
      );
      return row!['c'] === 0;
    });
  });

  it('a walk through the audit trail reads a part of its events on each node, by an index', async () => {
    await query(
      database.url,
      `INSERT INTO audit_events (user_id, id, event, result, actor_type, address)
         SELECT gen_random_uuid(), gen_random_uuid(), 'sign_in', 'ok', 'user', '192.0.2.7' FROM generate_series(1, 20000)`,
    );
    const walks = service.app.get(AuditWalks);
    const explain = async (filters: AuditFilters): Promise<string> => {
      const plan = await walks.read<{ 'QUERY PLAN': string }>(
        filters,
        undefined,
        20_000,
        ({ events, matches }, most) =>
          `EXPLAIN VERBOSE SELECT ${matches} FROM (${events} LIMIT ${most}) AS walked`,
      );
      return plan.map((line) => line['QUERY PLAN']).join('\n');
    };
    const ofAll = await explain({ address: '192.0.2.7' });
    expect(ofAll).toContain('Index Scan Backward using audit_events_address_');
    expect(ofAll).toMatch(/Query: .* LIMIT '?250\b/);
    const ofOne = await explain({ user_id: randomUUID() });
    expect(ofOne).toContain('Task Count: 1');
    expect(ofOne).toMatch(/Query: .* LIMIT '?5000\b/);
  });

  it('a later version brings columns, indexes and tables, and the service spreads the tables', async () => {
    const options = dataSourceOptions(database.url, 1);
    const migrations = [...MIGRATIONS, NextColumn1900000000000, NextIndex1900000001000];
    const patience = { timeoutMs: 10_000, signal: new AbortController().signal, log: () => undefined };
    expect(await migrate({ ...options, migrations }, patience)).toEqual([]);
    await query(database.url, `UPDATE users SET locale = 'en' WHERE user_id = $1`, [
      (await signIn(service.url)).user_id,
    ]);
    expect(
      await query(
        database.url,
        `SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = 'users_locale'::regclass`,
      ),
    ).toEqual([{ valid: true }]);

    await query(database.url, `SELECT undistribute_table('sample_codes')`); // as one that is new
    const next = await startTestService({ ...provider.env(), DATABASE_URL: database.url });
    await next.close();
    expect(
      await query(
        database.url,
        `SELECT partmethod AS by FROM pg_dist_partition WHERE logicalrelid = 'sample_codes'::regclass`,
      ),
    ).toEqual([{ by: 'h' }]);
  });
});

class NextColumn1900000000000 {
  up(runner: QueryRunner): Promise<unknown> {
    return runner.query('ALTER TABLE users ADD COLUMN locale text');
  }
}

class NextIndex1900000001000 {
  readonly transaction = false;
  up(runner: QueryRunner): Promise<unknown> {
    return runner.query('CREATE INDEX CONCURRENTLY users_locale ON users (locale)');
  }
}
