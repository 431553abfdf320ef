import { randomUUID } from 'node:crypto';
import { DIRECTORY_ENV, DirectoryClient } from '../support/directory.js';
import { query } from '../support/database.js';
import { SERVICE_KEY, startTestService } from '../support/service.js';
import { bearer } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { useEach } from '../support/use.js';

interface Synchronisation {
  readonly last_request_at: string | null;
  readonly last_request: string | null;
  readonly users: number;
  readonly waiting_tasks: number;
  readonly last_error: object | null;
}

/** GET /admin/providers/:name/directory (docs/administration.md#the-views). */
describe('the synchronisation with a directory', () => {
  const provider = useEach(() => StubProvider.start());
  const service = useEach(() =>
    startTestService({ ...provider.env(), ...DIRECTORY_ENV, SERVICE_KEYS: SERVICE_KEY }),
  );
  const directory = new DirectoryClient(service);

  const get = (name = 'stub') => bearer(service.url, SERVICE_KEY).get(`/admin/providers/${name}/directory`);
  /** Waits for the reading after the present one. */
  const found = async (holds: (one: Synchronisation) => boolean): Promise<Synchronisation> => {
    let last: Synchronisation | undefined;
    await until(async () => holds((last = (await get().expect(200)).body as Synchronisation)));
    return last!;
  };

  it('is that of the provider, and unknown for one without a directory', async () => {
    const { body } = await get().expect(200);
    expect(body).toEqual({
      url: expect.stringMatching(/\/scim\/v2\/stub$/) as unknown,
      attribute: 'externalId',
      claim: 'provider_user_id',
      last_request_at: null,
      last_request: null,
      users: 0,
      groups: 0,
      waiting_tasks: 0,
      last_error: null,
    });
    await get('mock').expect(404);
    await get(randomUUID()).expect(404);
  });

  it('has the last request and error, without what a filter names, and the numbers', async () => {
    await new DirectoryClient(service, 'stub', 'w'.repeat(40)).send('GET', '/Users').expect(401);
    const user = { userName: 'ada@corp.example' };
    const id = await directory.create('/Users', user);
    await directory.create('/Groups', { displayName: 'math', members: [{ value: id }] });
    await directory.send('POST', '/Users', user).expect(409);
    await directory.send('GET', '/Users?filter=userName%20eq%20%22ada@corp.example%22').expect(200);
    const at = expect.stringMatching(/^\d{4}-.*Z$/) as unknown;
    expect(await found((one) => one.last_request === 'GET /Users')).toMatchObject({
      last_request_at: at,
      last_request: 'GET /Users',
      users: 1,
      groups: 1,
      last_error: {
        at,
        request: 'POST /Users',
        status: 409,
        scim_type: 'uniqueness',
        detail: 'userName is already in use',
      },
    });
    const [{ text }] = (await query(
      service.databaseUrl,
      'SELECT a::text AS text FROM directory_activity a',
    )) as [{ text: string }];
    expect(text).not.toContain('ada');
  });

  it('counts what has not reached all users', async () => {
    await query(
      service.databaseUrl,
      `INSERT INTO directory_tasks (id, provider, kind, subject, created_at) VALUES ($1, 'stub', 'everyone', 'stub', now() + interval '1 hour')`,
      [randomUUID()],
    );
    expect((await get().expect(200)).body).toMatchObject({ waiting_tasks: 1 });
  });

  it('is not written with each request', async () => {
    const versions = new Set<string>();
    const began = performance.now();
    let requests = 0;
    while (versions.size < 2 && performance.now() - began < 30_000) {
      await directory.send('GET', '/Users?count=0').expect(200);
      requests++;
      const rows = await query(
        service.databaseUrl,
        'SELECT xmin::text AS version FROM directory_activity',
        [],
      );
      for (const { version } of rows) versions.add(version as string);
    }
    const seconds = (performance.now() - began) / 1000;
    expect(versions.size).toBeLessThanOrEqual(seconds + 1);
    expect(versions.size).toBe(2);
    expect(requests).toBeGreaterThan(versions.size);
  });
});
