import { connect } from 'node:net';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { isDatabaseAway } from './database-error.js';

describe('errors that mean that the database is unreachable', () => {
  it('a missing Unix socket, but no other missing file', async () => {
    const [missing] = (await once(connect('/nowhere/.s.PGSQL.5432'), 'error').catch((error: unknown) => [
      error,
    ])) as unknown[];
    expect(missing).toMatchObject({ code: 'ENOENT' });
    expect(isDatabaseAway(missing)).toBe(true);
    expect(isDatabaseAway(await readFile('/nowhere').catch((error: unknown) => error))).toBe(false);
  });

  it('a connection for which there is no file descriptor, but no other file', () => {
    const full = { code: 'EMFILE', message: 'too many open files' };
    expect(isDatabaseAway({ ...full, syscall: 'connect' })).toBe(true);
    expect(isDatabaseAway({ ...full, syscall: 'open' })).toBe(false);
  });

  it.each(['08006', '25006', '28P01', '53300', '57P01', '58030', 'ECONNREFUSED', 'ETIMEDOUT'])(
    '%s',
    (code) => {
      expect(isDatabaseAway(Object.assign(new Error(), { code }))).toBe(true);
      expect(isDatabaseAway({ driverError: { code } })).toBe(true);
    },
  );

  it.each(['23505', '42P01', '22P02', 'ERR_INVALID_ARG_TYPE'])('not %s', (code) =>
    expect(isDatabaseAway(Object.assign(new Error(), { code }))).toBe(false),
  );
});
