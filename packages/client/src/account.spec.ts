import { jest } from '@jest/globals';
import { makeAccount, shared } from './account.js';
import { LatchkeyError } from './latchkey-error.js';
import type { Call } from './service/service.js';

const device = (id: number) => ({ device_id: String(id), current: false, online: false });

/** Account calls of a service that answers `GET /devices` with these pages in turn. */
function accountOf(...pages: object[]) {
  const api = jest.fn((_method: string, _path: string) => Promise.resolve(pages.shift()));
  const account = makeAccount(
    LatchkeyError,
    api as unknown as Call,
    {} as never,
    { expectClaims: () => undefined },
    () => undefined,
    (() => undefined) as never,
    (() => undefined) as never,
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

it('answers a burst with two requests, and each question with an answer that began after it', async () => {
  const answers: ((answer: number) => void)[] = [];
  const ask = shared(() => new Promise<number>((resolve) => answers.push(resolve)));
  const first = ask();
  const burst = Array.from({ length: 20 }, () => ask());
  expect(answers).toHaveLength(1);
  answers[0]!(1);
  expect(await first).toBe(1);
  await new Promise(setImmediate);
  expect(answers).toHaveLength(2);
  const later = ask(); // while the second is under way
  answers[1]!(2);
  expect(await Promise.all(burst)).toEqual(Array<number>(20).fill(2));
  await new Promise(setImmediate);
  answers[2]!(3);
  expect(await later).toBe(3);
  await new Promise(setImmediate);
  void ask();
  expect(answers).toHaveLength(4);
});

it('rejects the calls of a failed request, and continues', async () => {
  const outcomes = [Promise.reject(new Error('first')), Promise.resolve('second')];
  const ask = shared(() => outcomes.shift()!);
  const first = ask();
  const second = ask();
  await expect(first).rejects.toThrow('first');
  expect(await second).toBe('second');
});
