import { randomUUID } from 'node:crypto';
import { SERVICE_KEY } from '../support/service.js';
import { bearer, type Tokens } from '../support/sign-in.js';
import { use } from '../support/use.js';
import { until } from '../support/waiting.js';
import { link, signInAt, tokensAt, useLinked } from './person.js';

/** Two users who are one person (docs/guides/linking.md#two-users-who-are-one-person), on two instances. */
describe('a user who becomes part of another one', () => {
  const { here, sql } = useLinked((_corp, hub) => ({
    ...hub.env('FORGE'),
    PROVIDERS_CORP_LINKS: 'hub, forge',
    PROVIDERS_HUB_LINKS: 'forge',
  }));
  const there = use(() => here.another());

  interface Pair {
    readonly own: Tokens;
    readonly other: Tokens;
    readonly octo: string;
    readonly merge_token: string;
  }

  async function pair(): Promise<Pair> {
    const [ada, octo] = [`user-${randomUUID()}`, `user-${randomUUID()}`];
    const other = await tokensAt(there, 'hub', octo, { device_id: randomUUID() });
    const own = await tokensAt(here, 'corp', ada);
    const { status, body } = await link(here, own, 'hub', octo);
    expect([status, body]).toEqual([
      409,
      {
        error: 'identity_in_use',
        error_description: expect.any(String),
        identity: { provider: 'hub', username: 'Ada', email: null },
        merge_token: expect.any(String),
      },
    ]);
    return { own, other, octo, merge_token: (body as { merge_token: string }).merge_token };
  }

  const merge = ({ own, merge_token }: Pair, at = here) =>
    bearer(at.url, own.access_token).post('/me/identities/merge', { merge_token });

  it('is signed out within a second, and nothing of them is left but the pointer', async () => {
    const two = await pair();
    const { own, other, octo } = two;
    const { body } = await merge(two).expect(200);
    expect(body).toEqual({ former_user_id: other.user_id });
    await until(async () => (await bearer(there.url, other.access_token).get('/me')).status === 401);
    expect((await tokensAt(there, 'hub', octo)).user_id).toBe(own.user_id);
    for (const table of ['devices', 'channels', 'channel_events', 'user_words']) {
      expect([table, await sql(`SELECT FROM ${table} WHERE user_id = $1`, other.user_id)]).toEqual([
        table,
        [],
      ]);
    }
    const backend = bearer(here.url, SERVICE_KEY);
    for (const answer of [
      await backend.get(`/users/${other.user_id}`),
      await backend.post('/push', { user_id: other.user_id, event: 'hello', data: {} }),
    ]) {
      expect([answer.status, answer.body]).toEqual([
        404,
        { error: 'not_found', error_description: expect.any(String), merged_into: own.user_id },
      ]);
    }
    const found = await backend.get(`/users?provider=hub&provider_user_id=${octo}`).expect(200);
    expect(found.body).toMatchObject({ users: [{ user_id: own.user_id }] });
    const text = `SELECT user_id, former_user_id FROM audit_events WHERE event = 'user_merged' AND former_user_id = $1`;
    expect(await sql(text, other.user_id)).toEqual([{ user_id: own.user_id, former_user_id: other.user_id }]);
  });

  it('leaves one trail, newest first, page by page, and in the export', async () => {
    const two = await pair();
    await merge(two).expect(200);
    await tokensAt(there, 'hub', two.octo);
    const backend = bearer(here.url, SERVICE_KEY);
    interface Page {
      readonly events: readonly { readonly id: string; readonly user_id: string; readonly event: string }[];
      readonly next_cursor?: string;
    }
    const pageOf = async (more: object): Promise<Page> => {
      const search = new URLSearchParams({ user_id: two.own.user_id, ...more });
      return (await backend.get(`/audit?${search.toString()}`).expect(200)).body as Page;
    };
    const { events: all } = await pageOf({});
    expect(all.map(({ event }) => event)).toEqual([
      'sign_in',
      'user_merged',
      'sign_out',
      'sign_in',
      'sign_in',
    ]);
    expect(new Set(all.map((one) => one.user_id))).toEqual(new Set([two.own.user_id, two.other.user_id]));
    const paged: object[] = [];
    for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
      const page = await pageOf({ limit: 2, ...(cursor !== undefined && { cursor }) });
      paged.push(...page.events);
      cursor = page.next_cursor;
    }
    expect(paged).toEqual(all);
    const { body } = await backend.get(`/users/${two.own.user_id}/export`).expect(200);
    expect(body).toMatchObject({
      audit_events: all,
      further_identities: [{ user_id: two.other.user_id, provider: 'hub', provider_user_id: two.octo }],
    });
  });

  it('brings joined identities along whose providers `links` names', async () => {
    const two = await pair();
    const forge = `user-${randomUUID()}`;
    await link(here, two.other, 'forge', forge).then(({ status }) => expect(status).toBe(200));
    await merge(two).expect(200);
    expect((await tokensAt(here, 'forge', forge)).user_id).toBe(two.own.user_id);
  });

  it('is merged once, by the session that has proved both', async () => {
    const two = await pair();
    const { own } = await pair();
    await merge({ ...two, own }).expect(401);
    const answers = await Promise.all([merge(two), merge(two, there)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401]);
    await merge(two).expect(401);
  });

  it('is never one who is suspended', async () => {
    const two = await pair();
    await bearer(here.url, SERVICE_KEY).patch(`/users/${two.other.user_id}`, { suspended: true }).expect(200);
    await merge(two).expect(403);
    const { body } = await bearer(here.url, SERVICE_KEY).get(`/users/${two.other.user_id}`).expect(200);
    expect(body).toMatchObject({ user_id: two.other.user_id });
  });

  it('goes with the user who is removed', async () => {
    const two = await pair();
    await merge(two).expect(200);
    await bearer(here.url, SERVICE_KEY).delete(`/users/${two.own.user_id}`).expect(204);
    expect((await tokensAt(here, 'hub', two.octo)).user_id).toBe(two.other.user_id);
  });

  it('stays out with a user who is suspended and removed, until the user may sign in again', async () => {
    const two = await pair();
    await merge(two).expect(200);
    const backend = bearer(here.url, SERVICE_KEY);
    const path = `/users/${two.own.user_id}`;
    await backend.patch(path, { suspended: true }).expect(200);
    await backend.delete(path).expect(204);
    expect(await signInAt(here, 'hub', two.octo)).toMatchObject({ status: 403 });
    await backend.patch(path, { suspended: false }).expect(204);
    expect((await tokensAt(here, 'hub', two.octo)).user_id).toBe(two.other.user_id);
  });
});
