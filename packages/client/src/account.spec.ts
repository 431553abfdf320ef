import { jest } from '@jest/globals';
import { makeAccount } from './account.js';
import type { Call } from './service.js';

const device = (id: number) => ({ device_id: String(id), current: false, online: false });

/** Account calls of a service that answers `GET /devices` with these pages in turn. */
function accountOf(...pages: object[]) {
  const api = jest.fn((_method: string, _path: string) => Promise.resolve(pages.shift()));
  const account = makeAccount(
    api as unknown as Call,
    (() => undefined) as never,
    {} as never,
    () => undefined,
  );
  return { account, paths: () => api.mock.calls.map(([, path]) => path) };
}

describe('devices()', () => {
  it('follows next_cursor to the last page', async () => {
    const { account, paths } = accountOf(
      { devices: [device(1), device(2)], next_cursor: 'a-b' },
      { devices: [device(3)], next_cursor: 'd' },
      { devices: [device(4)] },
    );
    expect((await account.devices()).map(({ device_id }) => device_id)).toEqual(['1', '2', '3', '4']);
    expect(paths()).toEqual(['/devices', '/devices?cursor=a-b', '/devices?cursor=d']);
  });

  it.each([[{}], [{ devices: null }]])('rejects the page %j', async (page) => {
    const { account } = accountOf({ devices: [device(1)], next_cursor: 'a' }, page);
    await expect(account.devices()).rejects.toMatchObject({ code: 'unexpected_answer' });
  });
});
