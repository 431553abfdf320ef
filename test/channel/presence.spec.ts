import { randomUUID } from 'node:crypto';
import { PresenceStore } from '../../src/channel/presence.store.js';
import { Events } from '../../src/platform/events.js';
import { Channel } from '../support/channel.js';
import { signIn } from '../support/sign-in.js';
import { until } from '../support/waiting.js';

describe('presence (`online`)', () => {
  const channel = Channel.around();
  const rowsOf = (table: string): Promise<object[]> => channel.sql(`SELECT FROM ${table}`);

  it('an instance that stops removes its own rows at once, before it would count as gone', async () => {
    const other = await channel.another({ DATABASE_URL: channel.service.databaseUrl });
    await channel.connect(await signIn(other.url, 'ada', { device_id: randomUUID() }), {}, other);
    await until(async () => (await rowsOf('presence')).length === 1);
    expect(await rowsOf('instances')).toHaveLength(2);
    await other.close();
    expect([await rowsOf('presence'), await rowsOf('instances')]).toEqual([[], [{}]]);
  });

  it('of many users who are asked for together is told apart, from shared statements', async () => {
    const [alive, dead, one, other] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    const none = '00000000-0000-0000-0000-000000000000'; // stands for no device
    await channel.sql('INSERT INTO instances VALUES ($1, now())', [alive]);
    await channel.sql(`INSERT INTO instances VALUES ($1, now() - interval '31 s')`, [dead]);
    const expected = new Map<string, (string | null)[]>();
    for (const devices of [[], [one], [null], [one, other], [null, other]]) {
      for (let n = 0; n < 4; n++) {
        const userId = randomUUID();
        expected.set(userId, devices);
        const insert =
          'INSERT INTO presence (user_id, device_id, instance_id) SELECT $1, unnest($2::uuid[]), $3';
        await channel.sql(insert, [userId, devices.map((id) => id ?? none), alive]);
        await channel.sql(insert, [userId, [randomUUID()], dead]);
      }
    }
    const shared: number[] = [];
    channel.service.app
      .get(Events)
      .on('statement.batched', ({ name, calls }) => name === 'presence-online' && shared.push(calls));
    const store = channel.service.app.get(PresenceStore);
    const users = [...expected.keys(), ...expected.keys()];
    const answers = await Promise.all(users.map((userId) => store.onlineDevices(userId)));
    expect(answers).toEqual(users.map((userId) => new Set(expected.get(userId))));
    expect(await store.onlineDevices(users[3]!)).toEqual(new Set());
    expect(await store.onlineDevices(users[4]!)).toEqual(new Set([one]));
    // On Citus, each user has a separate statement.
    if (process.env['CITUS_URL'] === undefined) expect(Math.max(...shared)).toBeGreaterThan(1);
    else expect(shared).toEqual([]);
  });
});
