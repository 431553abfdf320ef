import { jest } from '@jest/globals';
import { providerSettings } from '../../../test/support/stub-provider.js';
import { checkAdapter, masked, oneLine, within } from './check-adapter.js';
import type { ProviderAdapter } from '../provider-adapter.js';

const provider = providerSettings('acme', { clientSecret: 's3cret' });
const refusal = (error: string, message: string, more: object = {}): Error =>
  Object.assign(new Error(message), { error, ...more });
const check = (throwing: () => unknown): ReturnType<typeof checkAdapter> =>
  checkAdapter({ check: throwing } as unknown as ProviderAdapter, provider, 50);
const throws = (thrown: unknown) => (): never => {
  throw thrown;
};

describe('an adapter that looks at its settings', () => {
  it('is given them', async () => {
    const seen: unknown[] = [];
    expect(await check((...given) => void seen.push(...given))).toEqual({ refused: [], warned: [] });
    expect(seen).toEqual([provider]);
  });

  it('may have no check', async () => {
    expect(await checkAdapter({} as ProviderAdapter, provider)).toEqual({ refused: [], warned: [] });
  });

  it.each<[string, unknown, object]>([
    ['invalid_request', refusal('invalid_request', 'no url'), { refused: [{ line: 'no url' }], warned: [] }],
    ['invalid_client', refusal('invalid_client', 'wrong'), { refused: [{ line: 'wrong' }], warned: [] }],
    ['another code', refusal('server_error', 'away'), { refused: [], warned: ['away'] }],
    ['an error without a code', new Error('away'), { refused: [], warned: ['away'] }],
    ['null', null, { refused: [], warned: ['unknown error'] }],
    ['undefined', undefined, { refused: [], warned: ['unknown error'] }],
    ['a text', 'away', { refused: [], warned: ['unknown error'] }],
    [
      'a setting',
      refusal('invalid_request', 'bad', { setting: 'token_url' }),
      { refused: [{ setting: 'token_url', line: 'bad' }], warned: [] },
    ],
    [
      'a setting of the longest name',
      refusal('invalid_request', 'bad', { setting: 'a'.repeat(63) }),
      { refused: [{ setting: 'a'.repeat(63), line: 'bad' }], warned: [] },
    ],
    ...['a'.repeat(64), '', 'Url', 'x\ny', '.a', 'a.', 7].map((setting): [string, unknown, object] => [
      `a setting of no name: ${JSON.stringify(setting)}`,
      refusal('invalid_request', 'bad', { setting }),
      { refused: [{ line: 'bad' }], warned: [] },
    ]),
    [
      'several',
      new AggregateError([refusal('invalid_client', 'one'), new Error('two'), null]),
      { refused: [{ line: 'one' }], warned: ['two', 'unknown error'] },
    ],
    ['an empty list of errors', new AggregateError([], 'none'), { refused: [], warned: ['none'] }],
    [
      'errors that are no list',
      Object.assign(new Error('x'), { errors: 'y' }),
      { refused: [], warned: ['x'] },
    ],
  ])('and throws %s', async (_name, thrown, result) => expect(await check(throws(thrown))).toEqual(result));

  it('is told of with 20 lines at most', async () => {
    const { warned } = await check(
      throws(new AggregateError(Array.from({ length: 25 }, (_, i) => new Error(`${i}`)))),
    );
    expect(warned).toEqual(Array.from({ length: 20 }, (_, i) => `${i}`));
  });

  it('has a limit of time', async () => {
    expect(await check(() => new Promise(() => undefined))).toEqual({
      refused: [],
      warned: ['was not done within 50 ms'],
    });
  });
});

describe('work within a time', () => {
  it('gives what it gives', async () => expect(await within(50, Promise.resolve(7))).toBe(7));
  it('leaves no timer behind', async () => {
    jest.useFakeTimers();
    try {
      await within(50, Promise.resolve(7));
      await within(50, Promise.reject(new Error('x'))).catch(() => undefined);
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });
  it('fails as it fails', async () =>
    expect(within(50, Promise.reject(new Error('x')))).rejects.toThrow('x'));
});

describe('an error on one line', () => {
  it.each<[string, unknown, string]>([
    ['the first of several', new Error('one\ntwo'), 'one'],
    ['without the secret, wherever it is', new Error('a s3cret b s3cret'), 'a *** b ***'],
    ['without control characters', new Error('a\u0000b\u001fc\u007fd\u009fe\tf'), 'a b c d e f'],
    ['with other characters', new Error('\u0020~\u00a0é'), '\u0020~\u00a0é'],
    ['cut', new Error('x'.repeat(500)), 'x'.repeat(400)],
    ['of what has no text', { message: 7 }, 'unknown error'],
    ['of an empty text', new Error(''), ''],
  ])('%s', (_name, error, line) => expect(oneLine(error, provider)).toBe(line));

  it('is looked at for 10,000 characters, so that a long one costs little', () => {
    expect(oneLine(new Error('s3cret'.repeat(2000)), provider)).toHaveLength(400);
  });
});

it.each([
  ['b', 'cannot be loaded', 'cannot be loaded'],
  ['b', 'the secret b, "b" and (b) of a bible', 'the secret ***, "***" and (***) of a bible'],
  ['$1.*', 'was $1.* here', 'was *** here'],
  ['eightlet', 'xeightletx', 'x***x'],
])('the secret %j is masked in %j', (secret, line, expected) => {
  expect(masked(line, secret)).toBe(expected);
});
