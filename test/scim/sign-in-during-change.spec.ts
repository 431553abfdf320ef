import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { deriveUserId } from '../../src/identity/user-id.js';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { connect, query } from '../support/database.js';
import { bearer, beginSignIn, signIn, type Tokens } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { use, useService } from '../support/use.js';

const WAITING = `SELECT query FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`;

/** docs/directory.md#if-a-name-changes */
describe('a sign-in during a change that takes the user out of the directory', () => {
  const { service } = useService({ ...DIRECTORY_ENV, PROVIDERS_STUB_ALLOW: 'directory' });
  const directory = new DirectoryClient(service);
  const holder = use(
    () => connect(service.databaseUrl),
    (one) => one.end(),
  );

  it('leaves no session', async () => {
    const user = randomUUID();
    const id = await directory.create('/Users', { userName: user, externalId: user });
    await signIn(service.url, user);
    const state = await beginSignIn(service.url);
    await holder.query('BEGIN');
    await holder.query('SELECT FROM users WHERE user_id = $1 FOR NO KEY UPDATE', [
      deriveUserId('stub', user),
    ]);
    const waiting = async (n: number) =>
      until(async () => (await query(service.databaseUrl, WAITING)).length >= n);
    const change = directory
      .patch(`/Users/${id}`, { op: 'replace', path: 'externalId', value: `${user} 2` })
      .then((r) => r);
    await waiting(1);
    const exchange = request(service.url)
      .post('/oauth2/token')
      .send({ code: user, state })
      .then((r) => r);
    await waiting(2);
    await new Promise((r) => setTimeout(r, 150)); // out of the batch
    await waiting(2);
    await holder.query('ROLLBACK');
    expect((await change).status).toBe(200);
    const answer = await exchange;
    const { access_token } = answer.body as Tokens;
    const alive =
      access_token === undefined
        ? false
        : (await bearer(service.url, access_token).get('/me')).status === 200;
    // the next sign-in is refused:
    const again = await request(service.url)
      .post('/oauth2/token')
      .send({ code: user, state: await beginSignIn(service.url) });
    expect([answer.status, alive, again.status]).toEqual([expect.any(Number), false, 403]);
  });
});
