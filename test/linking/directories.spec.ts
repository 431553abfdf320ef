import { randomUUID } from 'node:crypto';
import { connect } from '../support/database.js';
import { DirectoryClient } from '../support/directory.js';
import { SERVICE_KEY } from '../support/service.js';
import { bearer, claimsOf, type Tokens } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { link, signInAt, tokensAt, useLinked } from './person.js';

const TOKEN = 'a-token-of-the-directory-of-hub-with-enough-characters';
const OFF = { op: 'replace', path: 'active', value: false };

/** The directory of a joined identity's provider, which knows its account by a name. */
describe('the directory of a joined provider', () => {
  const { hub, here, sql, isLive } = useLinked((corp) => ({
    ...corp.env('FORGE'),
    PROVIDERS_CORP_LINKS: 'hub, forge',
    PROVIDERS_FORGE_LINKS: 'hub',
    PROVIDERS_HUB_SCIM_TOKEN: TOKEN,
    PROVIDERS_HUB_SCIM_ATTRIBUTE: 'userName',
    PROVIDERS_HUB_SCIM_CLAIM: 'text',
  }));
  const directory = new DirectoryClient(here, 'hub', TOKEN);

  const named = (octo: string, text: string): unknown => hub.claims.set(octo, { text });
  const created = (userName: string): Promise<string> =>
    directory.create('/Users', { userName, externalId: userName, active: true });
  async function person() {
    const [octo, name] = [`octo-${randomUUID()}`, `name-${randomUUID()}`];
    named(octo, name);
    return { octo, name, own: await tokensAt(here, 'corp', `ada-${randomUUID()}`) };
  }
  type Someone = Awaited<ReturnType<typeof person>>;
  const joined = async ({ own, octo }: Someone): Promise<void> =>
    expect(await link(here, own, 'hub', octo)).toMatchObject({ status: 200 });
  const signedIn = ({ octo }: Someone): Promise<Tokens> => tokensAt(here, 'hub', octo);

  /** Each signs in by the joined identity, and returns the session and the directory user. */
  it.each<[string, (one: Someone) => Promise<[Tokens, string]>]>([
    ['', async (one) => (await joined(one), [await signedIn(one), await created(one.name)])],
    [
      ' that support has joined',
      async (one) => {
        const { user_id } = one.own;
        const body = { provider: 'hub', provider_user_id: one.octo };
        await bearer(here.url, SERVICE_KEY).post(`/users/${user_id}/identities`, body).expect(200);
        return [await signedIn(one), await created(one.name)];
      },
    ],
    [
      ' that has another name at its provider since',
      async (one) => {
        await joined(one);
        named(one.octo, `new-${one.name}`);
        return [await signedIn(one), await created(`new-${one.name}`)];
      },
    ],
    [
      ' that it has renamed since',
      async (one) => {
        await joined(one);
        const id = await created(one.name);
        const tokens = await signedIn(one);
        await directory
          .patch(`/Users/${id}`, { op: 'replace', path: 'userName', value: `new-${one.name}` })
          .expect(200);
        return [tokens, id];
      },
    ],
    [
      ' that has come along with a former user',
      async (one) => {
        const former = `former-${randomUUID()}`;
        await joined({ ...one, own: await tokensAt(here, 'forge', former) });
        const { body } = await link(here, one.own, 'forge', former);
        const { merge_token } = body as { merge_token: string };
        await bearer(here.url, one.own.access_token)
          .post('/me/identities/merge', { merge_token })
          .expect(200);
        return [await signedIn(one), await created(one.name)];
      },
    ],
  ])('ends the sessions of an account%s', async (_which, begin) => {
    const one = await person();
    const [tokens, id] = await begin(one);
    expect([tokens.user_id, await isLive(tokens)]).toEqual([one.own.user_id, true]);
    await directory.patch(`/Users/${id}`, OFF).expect(200);
    expect([await isLive(tokens), await isLive(one.own)]).toEqual([false, true]);
    expect((await signInAt(here, 'hub', one.octo)).status).toBe(403);
  });

  it('gives the user no claims', async () => {
    const one = await person();
    await joined(one);
    await directory.create('/Groups', {
      displayName: 'rulers',
      members: [{ value: await created(one.name) }],
    });
    expect(claimsOf((await signedIn(one)).access_token)).not.toHaveProperty('groups');
  });

  /** What fires the trigger waits while `work` runs, until `go` is called. */
  async function paused(
    trigger: string,
    table: string,
    work: (isWaiting: () => Promise<void>, go: () => Promise<unknown>) => Promise<void>,
  ): Promise<void> {
    await sql(`CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END $$`);
    await sql(`CREATE ${trigger} FOR EACH ROW EXECUTE FUNCTION pause()`);
    const holder = await connect(here.databaseUrl);
    const waiting = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`;
    try {
      await holder.query('SELECT pg_advisory_lock(7)');
      await work(
        () => until(async () => (await sql(waiting)).length > 0),
        () => holder.query('SELECT pg_advisory_unlock(7)'),
      );
    } finally {
      await holder.end();
      await sql(`DROP TRIGGER pause ON ${table}; DROP FUNCTION pause()`);
    }
  }

  it('lets nobody in who is deactivated during the sign-in', async () => {
    const one = await person();
    await joined(one);
    const id = await created(one.name);
    const trigger = 'TRIGGER pause BEFORE INSERT ON refresh_tokens';
    await paused(trigger, 'refresh_tokens', async (isWaiting, go) => {
      const signing = signInAt(here, 'hub', one.octo).then((answer) => answer);
      await isWaiting();
      await directory.patch(`/Users/${id}`, OFF).expect(200);
      await go();
      expect(await signing).toMatchObject({ status: 403, body: { error: 'access_denied' } });
    });
    const open = `SELECT FROM refresh_tokens WHERE user_id = $1 AND signed_out_at IS NULL`;
    expect(await sql(open, one.own.user_id)).toHaveLength(1); // the own one
  });

  it('ends a session that begins before the deactivation is committed', async () => {
    const one = await person();
    await joined(one);
    const id = await created(one.name);
    const atCommit = 'CONSTRAINT TRIGGER pause AFTER UPDATE ON directory_users DEFERRABLE INITIALLY DEFERRED';
    await paused(atCommit, 'directory_users', async (isWaiting, go) => {
      const patching = directory.patch(`/Users/${id}`, OFF).then(({ status }) => status);
      await isWaiting();
      const tokens = await signedIn(one);
      await go();
      expect([await patching, await isLive(tokens)]).toEqual([200, false]);
    });
  });
});
