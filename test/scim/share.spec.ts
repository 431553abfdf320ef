import { randomUUID } from 'node:crypto';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { bearer, signIn } from '../support/sign-in.js';
import { connect } from '../support/database.js';
import { use, useService } from '../support/use.js';

/** Four requests at a time, and a hundred that wait (docs/directory.md#what-is-understood). */
const SHARE = 104;

describe('the share of a directory', () => {
  const { service } = useService(DIRECTORY_ENV);
  const holder = use(
    () => connect(service.databaseUrl),
    (one) => one.end(),
  );

  it('beyond it: 429 with Retry-After, while users are served; what waited is done', async () => {
    const directory = new DirectoryClient(service);
    const id = await directory.create('/Groups', { displayName: randomUUID() });
    await holder.query('BEGIN');
    await holder.query('SELECT FROM directory_groups WHERE id = $1 FOR UPDATE', [id]);
    const counts = { 204: 0, 429: 0 };
    const rename = async (i: number): Promise<string | undefined> => {
      const call = directory.patch(`/Groups/${id}`, { op: 'replace', value: { displayName: `name ${i}` } });
      const { status, headers } = await call;
      counts[status as 204 | 429]++;
      return headers['retry-after'];
    };
    const all = Array.from({ length: SHARE + 10 }, (_, i) => rename(i));
    expect(await Promise.any(all.map(async (one) => (await one) ?? Promise.reject(new Error('done'))))).toBe(
      '1',
    );
    const { access_token } = await signIn(service.url);
    await bearer(service.url, access_token).get('/me').expect(200);
    await holder.query('ROLLBACK');
    await Promise.all(all);
    expect(counts).toEqual({ 204: SHARE, 429: 10 });
  });
});
