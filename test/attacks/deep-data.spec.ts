import { query } from '../support/database.js';
import { SERVICE_KEY } from '../support/service.js';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { useService } from '../support/use.js';

/** PostgreSQL and JSON.parse accept 4,000 levels, which overflow the stack when they are encoded for a socket. */
const arrays = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const objects = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

/**
 * Data that can be stored but not sent: one push of it was answered with 500 but stored, and then ended the process each
 * time that user connected.
 */
describe('data that is deep', () => {
  let tokens: Tokens;
  const clients: SocketClient[] = [];

  const { service } = useService({ SERVICE_KEYS: SERVICE_KEY });
  beforeEach(async () => {
    tokens = await signIn(service.url);
  });
  afterEach(() => clients.splice(0).forEach((client) => client.close()));

  async function connect(offset?: number): Promise<SocketClient> {
    const options = offset === undefined ? {} : { offset };
    const client = await SocketClient.connect(service.url, tokens.access_token, options);
    clients.push(client);
    return client;
  }
  const push = (event: string) =>
    bearer(service.url, SERVICE_KEY).post('/push', { user_id: tokens.user_id, event }).expect(202);
  const pushRaw = (data: string, ttl: number) =>
    fetch(`${service.url}/push`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${SERVICE_KEY}`, 'Content-Type': 'application/json' },
      body: `{"user_id":"${tokens.user_id}","event":"deep","ttl":${ttl},"data":${data}}`,
    });
  const history = (client: SocketClient) => client.history.map(({ event, meta }) => [event, meta!.offset]);

  it('is refused, and nothing is stored or delivered', async () => {
    const client = await connect();
    for (const ttl of [0, 60])
      for (const data of [...[101, 4107, 20_000].map(arrays), ...[101, 5000].map(objects)]) {
        const response = await pushRaw(data, ttl);
        const refused = { error: 'invalid_request', error_description: expect.any(String) };
        expect([response.status, await response.json()]).toEqual([400, refused]);
      }
    expect((await pushRaw(arrays(99), 60)).status).toBe(202);
    await client.next('deep');
    expect(history(client)).toEqual([['deep', 1]]);
    const [row] = await query(
      service.databaseUrl,
      'SELECT count(*)::int AS n FROM channel_events WHERE user_id = $1',
      [tokens.user_id],
    );
    expect(row).toEqual({ n: 1 });
  });

  /** Rows beyond today's limit. */
  const ROWS: [string, string, string][] = [
    ['8,000 levels', 'x', arrays(8000)],
    ['20,000 levels', 'x', objects(20_000)],
    ['no JSON', 'x', '{"a":'],
    ['nothing', 'x', ''],
    ['a name that Socket.IO keeps for itself', 'disconnect', '1'],
    ['another one', 'newListener', '1'],
  ];
  async function store(event: string, data: string, sentAt = 'now()'): Promise<void> {
    await query(
      service.databaseUrl,
      `WITH counter AS (
         INSERT INTO channels (user_id, last_offset) VALUES ($1, 1)
         ON CONFLICT (user_id) DO UPDATE SET last_offset = channels.last_offset + 1 RETURNING last_offset
       )
       INSERT INTO channel_events (user_id, event_offset, id, event, data, sent_at, expires_at)
       SELECT $1, last_offset, gen_random_uuid(), $2, $3, ${sentAt}, now() + interval '1 hour' FROM counter`,
      [tokens.user_id, event, data],
    );
  }

  it.each(ROWS)(
    'a stored event with %s is skipped, each time, and logged once',
    async (_name, event, data) => {
      await push('before');
      await store(event, data);
      await push('after');
      const said = service.log.length;
      for (let round = 0; round < 3; round++) {
        const client = await connect(0);
        await client.next('after');
        expect(history(client)).toEqual([
          ['before', 1],
          ['after', 3],
        ]);
        expect(client.disconnects).toEqual([]);
      }
      const lines = service.log.slice(said).filter((line) => /cannot be delivered.*"offset":2/.test(line));
      expect(lines).toHaveLength(1);
    },
  );

  it('two hundred such rows in a row, or at the end of the history, keep nobody from the events after them', async () => {
    await query(service.databaseUrl, 'INSERT INTO channels VALUES ($1, 200)', [tokens.user_id]);
    await query(
      service.databaseUrl,
      `INSERT INTO channel_events (user_id, event_offset, id, event, data, sent_at, expires_at)
       SELECT $1, i, gen_random_uuid(), 'x', CASE i % 2 WHEN 0 THEN '{' ELSE $2 END, now(), now() + interval '1 hour'
       FROM generate_series(1, 200) i`,
      [tokens.user_id, arrays(20_000)],
    );
    await store('x', '1', `'infinity'`);
    const [early, late] = [await connect(0), await connect(150)];
    await push('after');
    await Promise.all([early.next('after'), late.next('after')]);
    for (const client of [early, late]) expect(history(client)).toEqual([['after', 202]]);
  });
});
