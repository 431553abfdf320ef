import { randomUUID } from 'node:crypto';
import { deriveUserId } from '../../src/identity/user-id.js';
import { HERE, asBrowser } from '../support/audit.js';
import { beginSignIn, bearer } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { useService } from '../support/use.js';

const KEY = 's'.repeat(32);

type Events = Record<string, unknown>[];

/** People whose sign-in is refused and who are no users: the support finds them; a removed one stays an id. */
describe('a refused person without a user', () => {
  let person: string;

  const { provider, service } = useService({
    PROVIDERS_STUB_ALLOW: 'email_domain=corp.example',
    SERVICE_KEYS: KEY,
  });
  beforeEach(() => {
    person = randomUUID();
  });

  const backend = () => bearer(service.url, KEY);
  async function find(path: string): Promise<Events> {
    return ((await backend().get(path).expect(200)).body as { events: Events }).events;
  }
  /** The refusal is stored a moment after its answer. */
  async function refusals(path: string, count = 1): Promise<Events> {
    let events: Events = [];
    await until(async () => {
      events = (await find(path)).filter(({ event }) => event === 'sign_in_refused');
      return events.length >= count;
    });
    return events;
  }
  async function signInWith(email: string, status: number): Promise<void> {
    provider.answerWith(200, { provider_user_id: person, email });
    const state = await beginSignIn(service.url);
    await asBrowser(service.url).post('/oauth2/token', { code: person, state }).expect(status);
    provider.reset();
  }

  it.each(['/audit', '/admin/trail'])(
    'is found by GET %s: by address, and by the identity at the provider',
    async (path) => {
      await signInWith('ada@home.example', 403);
      const identity = { provider: 'stub', provider_user_id: person };
      const refused = { event: 'sign_in_refused', error: 'access_denied', ...identity, ...HERE };
      const query = `provider=stub&provider_user_id=${person}`;
      const [event] = await refusals(`${path}?${query}`);
      expect(event).toMatchObject({ ...refused, user_id: deriveUserId('stub', person) });
      const atAddress = await find(`${path}?address=${String(event!['address'])}`);
      expect(atAddress).toContainEqual(expect.objectContaining(refused));
      if (path === '/admin/trail') expect(event).toMatchObject({ no_user: true });
      const { body } = await backend().get(`/audit/counts?by=error&${query}`).expect(200);
      expect((body as { counts: object[] }).counts).toEqual([
        { key: 'access_denied', attempts: 1, people: 1 },
      ]);
    },
  );

  it('is a user once admitted: the earlier refusal stays theirs', async () => {
    await signInWith('ada@home.example', 403);
    await refusals(`/audit?provider=stub&provider_user_id=${person}`);
    await signInWith('ada@corp.example', 200);
    const events = await find(`/admin/trail?provider=stub&provider_user_id=${person}`);
    expect(events.map(({ event, no_user }) => [event, no_user])).toEqual([
      ['sign_in', undefined],
      ['sign_in_refused', undefined],
    ]);
  });

  it.each([false, true])('that was removed stays an id (suspended before: %s)', async (isSuspended) => {
    const userId = deriveUserId('stub', person);
    await signInWith('ada@home.example', 403);
    await refusals(`/audit?user_id=${userId}`);
    await signInWith('ada@corp.example', 200);
    if (isSuspended) await backend().patch(`/users/${userId}`, { suspended: true }).expect(200);
    await backend().delete(`/users/${userId}`).expect(204);
    await signInWith('ada@home.example', 403);
    const events = await refusals(`/audit?user_id=${userId}`, 2);
    for (const event of events)
      expect(Object.keys(event)).toEqual(
        expect.not.arrayContaining(['address', 'user_agent', 'provider_user_id']),
      );
    expect(JSON.stringify(events)).not.toContain(person);
  });

  it.each([
    'provider_user_id=x',
    'provider=stub&provider_user_id=',
    `provider=stub&provider_user_id=x&user_id=${randomUUID()}`,
  ])('GET /audit?%s is refused', async (query) => {
    await backend().get(`/audit?${query}`).expect(400);
    await backend().get(`/audit/counts?by=error&${query}`).expect(400);
  });
});
