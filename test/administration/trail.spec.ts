import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { bearer, signIn } from '../support/sign-in.js';
import { useService } from '../support/use.js';

const SERVICE_KEY = 'k'.repeat(32);
const CHROME = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/156.0.0.0 Safari/537.36';

/** GET /admin/trail. */
describe('the audit trail with names', () => {
  const { provider, service } = useService({ SERVICE_KEYS: SERVICE_KEY });

  const byKey = () => bearer(service.url, SERVICE_KEY);
  const read = async (path: string): Promise<{ events: Record<string, unknown>[]; next_cursor?: string }> =>
    (await byKey().get(path).expect(200)).body as never;
  async function enter(username: string | null, device: object = {}) {
    const id = randomUUID();
    provider.answerWith(200, { provider_user_id: id, username, email: `${id}@example.com` });
    const tokens = await signIn(service.url, id, { device_id: randomUUID(), user_agent: CHROME, ...device });
    provider.reset();
    return { id, ...tokens };
  }
  /** Inserts an event of the end of a session; its reason names who has ended it. */
  const insertEnd = (userId: string, event: string, reason: string): Promise<unknown> =>
    service.app.get(DataSource).query(
      `INSERT INTO audit_events (user_id, id, event, result, reason, actor_type)
       VALUES ($1, gen_random_uuid(), $2, 'ok', $3, 'user')`,
      [userId, event, reason],
    );

  it('has the events of GET /audit, with the names of user, device, browser and system', async () => {
    const { user_id } = await enter('Ada', { device_name: 'Laptop' });
    const { events } = await read(`/audit?user_id=${user_id}&limit=5`);
    const names = { user_name: 'Ada', device_name: 'Laptop', browser: 'Chrome 156', os: 'Windows 10/11' };
    expect(await read(`/admin/trail?user_id=${user_id}&limit=5`)).toEqual({
      events: events.map((event) => ({
        ...event,
        ...names,
        browser: expect.anything(),
        os: expect.anything(),
      })),
    });
    expect((await read('/admin/trail?limit=1')).next_cursor).toBeDefined();
    await byKey().get('/admin/trail?nonsense=1').expect(400);
  });

  it('falls back to the e-mail address, and has no name of a removed user', async () => {
    const { id, user_id } = await enter(null);
    const nameIn = async (): Promise<unknown> =>
      (await read(`/admin/trail?user_id=${user_id}&event=sign_in`)).events[0]!['user_name'];
    expect(await nameIn()).toBe(`${id}@example.com`);
    await byKey().delete(`/users/${user_id}`).expect(204);
    expect(await nameIn()).toBeUndefined();
  });

  it('names the device or the person that has ended a session', async () => {
    const { user_id } = await enter('Ada', { device_name: 'Laptop' });
    const { user_id: other } = await enter('Grace');
    const [{ device_id } = {}] = (await read(`/audit?user_id=${user_id}`)).events;
    await insertEnd(user_id, 'sign_out', `by device ${String(device_id)}`);
    await insertEnd(user_id, 'refresh_refused', `ended by user ${other} at 2026-11-27T00:00:00.000Z`);
    await insertEnd(user_id, 'sign_in_refused', `by user ${other}`); // the provider's words
    const { events } = await read(`/admin/trail?user_id=${user_id}`);
    expect(events.map(({ event, ended_by_name }) => [event, ended_by_name])).toEqual([
      ['sign_in_refused', undefined],
      ['refresh_refused', 'Grace'],
      ['sign_out', 'Laptop'],
      ['sign_in', undefined],
    ]);
  });
});
