import { randomUUID } from 'node:crypto';
import { deriveUserId } from '../../src/identity/user-id.js';
import { connect } from '../support/database.js';
import type { TestService } from '../support/service.js';
import { bearer, claimsOf, type Tokens } from '../support/sign-in.js';
import { use } from '../support/use.js';
import { waiting } from '../support/waiting.js';
import { link, signInAt, tokensAt, useLinked } from './person.js';

const ROUNDS = 8;
const SESSIONS = 9_990;
const LIVING = 'SELECT count(*)::int FROM refresh_tokens WHERE user_id = $1 AND expires_at > now()';

/** A promise, and what resolves it. */
function gate() {
  let resolve!: () => void;
  const promise = new Promise<void>((open) => (resolve = open));
  return { promise, resolve };
}

/** Calls that are under way while a session or an identity ends. */
describe('joined identities at one time with', () => {
  const { hub, here, sql, isLive } = useLinked();
  const there = use(() => here.another());

  const newName = (): string => `user-${randomUUID()}`;
  const begin = async ({ access_token }: Tokens): Promise<string> => {
    const { body } = await bearer(here.url, access_token)
      .post('/me/identities', { provider: 'hub' })
      .expect(200);
    return (body as { state: string }).state;
  };
  const complete = (at: TestService, { access_token }: Tokens, code: string, state: string) =>
    bearer(at.url, access_token).post('/me/identities/complete', { code, state });
  const part = ({ access_token }: Tokens, at: TestService = here) =>
    bearer(at.url, access_token).delete('/me/identities/hub');
  /** Who has the lock of the row of the user until `commit`. */
  const lockOf = async ({ user_id }: Tokens) => {
    const client = await connect(here.databaseUrl);
    await client.query('BEGIN');
    await client.query('SELECT FROM users WHERE user_id = $1 FOR UPDATE', [user_id]);
    return client;
  };

  it('a sign-out while the provider is asked: nothing is joined', async () => {
    const own = await tokensAt(here, 'corp', newName());
    const octo = newName();
    const state = await begin(own);
    const { answer } = hub;
    const { promise: asked, resolve: isAsked } = gate();
    const { promise: released, resolve: release } = gate();
    hub.answer = (...call) => {
      isAsked();
      void released.then(() => answer(...call));
    };
    const completing = complete(here, own, octo, state).then((response) => response);
    await asked;
    await bearer(there.url, own.access_token).post('/sign-out', { scope: 'all' }).expect(204);
    release();
    const { status, body } = await completing;
    hub.reset();
    expect([status, body]).toEqual([401, expect.objectContaining({ error: 'invalid_grant' })]);
    expect((await tokensAt(here, 'hub', octo)).user_id).toBe(deriveUserId('hub', octo));
  });

  it('a sign-out before a merge has locked the user: nobody is merged', async () => {
    const octo = newName();
    const other = await tokensAt(here, 'hub', octo);
    const own = await tokensAt(here, 'corp', newName());
    const { merge_token } = (await link(here, own, 'hub', octo)).body as { merge_token: string };
    const locked = await lockOf(own);
    const merging = bearer(here.url, own.access_token)
      .post('/me/identities/merge', { merge_token })
      .then((response) => response);
    await waiting(here.databaseUrl, [1, 'users'], merging);
    await locked.query(`UPDATE refresh_tokens SET signed_out_at = now() WHERE session_id = $1`, [
      claimsOf(own.access_token)['sid'],
    ]);
    await locked.query('COMMIT');
    await locked.end();
    expect(await merging).toMatchObject({ status: 401, body: { error: 'invalid_grant' } });
    expect(await isLive(other)).toBe(true);
  });

  it('a parting: a session that begins meanwhile ends', async () => {
    const own = await tokensAt(here, 'corp', newName());
    const octo = newName();
    await link(here, own, 'hub', octo);
    const other = await tokensAt(here, 'hub', octo);
    const [session, identity] = [claimsOf(other.access_token)['sid'], deriveUserId('hub', octo)];
    const note = 'UPDATE refresh_tokens SET joined_identity_id = $1 WHERE session_id = $2';
    await sql(note, null, session);
    const locked = await lockOf(own);
    await locked.query(note, [identity, session]);
    const parting = part(own).then((response) => response);
    await waiting(here.databaseUrl, [1, 'users'], parting);
    await locked.query('COMMIT');
    await locked.end();
    expect((await parting).status).toBe(204);
    expect(await Promise.all([own, other].map(isLive))).toEqual([true, false]);
  });

  it('a sign-in that waits for the parting: its session ends', async () => {
    const own = await tokensAt(here, 'corp', newName());
    const octo = newName();
    await link(here, own, 'hub', octo);
    const locked = await lockOf(own);
    const signingIn = signInAt(here, 'hub', octo);
    await waiting(here.databaseUrl, [1, 'users'], signingIn);
    await locked.query('DELETE FROM users WHERE user_id = $1', [deriveUserId('hub', octo)]);
    await locked.query('COMMIT');
    await locked.end();
    expect(await signingIn).toMatchObject({ status: 401, body: { error: 'invalid_grant' } });
    expect(await sql(LIVING, own.user_id)).toEqual([{ count: 1 }]);
  });

  it('each other: a joining again, a sign-in and a parting do not wait for each other in a circle', async () => {
    const own = await tokensAt(here, 'corp', newName());
    for (let round = 0; round < ROUNDS; round++) {
      let octo = newName();
      while (deriveUserId('hub', octo) > own.user_id) octo = newName();
      const [first, second] = [await begin(own), await begin(own)];
      await complete(here, own, octo, first).expect(200);
      const [completed, parted, signedIn] = await Promise.all([
        complete(there, own, octo, second),
        part(own),
        signInAt(there, 'hub', octo),
      ]);
      expect(parted.status).toBe(204);
      expect([200, 409]).toContain(completed.status); // 409: the sign-in after the parting made a user
      expect([200, 401]).toContain(signedIn.status);
      await part(own);
    }
  });

  it('very many sessions by it: a sign-in and a parting do not take too long', async () => {
    const own = await tokensAt(here, 'corp', newName());
    const octo = newName();
    await link(here, own, 'hub', octo);
    const others = `
      INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at, joined_identity_id)
      SELECT $1, gen_random_uuid(), sha256(i::text::bytea), now() + interval '1 d', $2
      FROM generate_series(1, $3::int) AS i`;
    await sql(others, own.user_id, deriveUserId('hub', octo), SESSIONS);
    await tokensAt(here, 'hub', octo);
    await part(own).expect(204);
    expect(await sql(LIVING, own.user_id)).toEqual([{ count: 1 }]);
    expect((await tokensAt(here, 'hub', octo)).user_id).not.toBe(own.user_id);
  });
});
