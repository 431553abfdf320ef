import { jest } from '@jest/globals';
import { Sql } from '../../src/platform/database/sql.js';
import { bearer, signIn } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { useService } from '../support/use.js';

type Line = Record<string, unknown> & {
  readonly err?: { readonly stack?: string };
  readonly left_out?: number;
};

/** Equal 5xx (docs/maintenance.md#the-log). */
describe('a request that fails again and again', () => {
  const { service } = useService({ LOG_LEVEL: 'info' });
  afterEach(() => void jest.restoreAllMocks());

  it('is logged once, with its stack, and then counted once a second', async () => {
    const { access_token } = await signIn(service.url);
    jest.spyOn(service.app.get(Sql), 'query').mockRejectedValue(new Error('broken'));
    const before = service.log.length;
    const lines = () => service.log.slice(before).map((line) => JSON.parse(line) as Line);
    const { body } = await bearer(service.url, access_token).get('/me').expect(500);
    expect(body).toEqual({ error: 'server_error', error_description: 'something went wrong' });
    const call = () => bearer(service.url, access_token).get('/me');
    await Promise.all(Array.from({ length: 149 }, call));
    const ofErrors = () => lines().filter(({ context }) => context === 'OAuthErrorFilter');
    const ofRequests = () => lines().filter(({ msg = '' }) => /^requests?$/.test(msg as string));
    const all = (some: Line[]): number => some.reduce((sum, { left_out = 1 }) => sum + left_out, 0);
    await until(() => all(ofErrors()) === 150 && all(ofRequests()) === 150, 'all are logged or counted');
    expect(ofErrors()[0]).toMatchObject({
      level: 'error',
      request_id: expect.any(String),
      err: { message: 'server_error: something went wrong', stack: expect.any(String) },
    });
    expect(ofRequests()[0]).toMatchObject({
      level: 'error',
      path: '/me',
      status: 500,
      error: 'server_error',
    });
    const counted = { method: 'GET', route: '/me', status: 500, error: 'server_error' };
    expect(ofRequests().find(({ left_out }) => left_out !== undefined)).toMatchObject(counted);
    // A busy machine may take several seconds, or pause for one.
    for (const some of [ofErrors(), ofRequests()]) expect(some.length).toBeLessThan(50);
    const counts = ofErrors().filter(({ left_out }) => left_out !== undefined);
    expect(counts.map(({ err }) => err)).toEqual(counts.map(() => undefined));
    expect(counts[0]).toMatchObject({ error: expect.stringContaining('caused by Error: broken') });
  });
});
