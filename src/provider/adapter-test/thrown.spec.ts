import type { ProviderIdentity } from '../provider-adapter.js';
import { CODE, SECRET } from './secrets.js';
import { failure, outcome } from './thrown.js';

const fails = (thrown: unknown): Promise<ProviderIdentity> =>
  // oxlint-disable-next-line prefer-promise-reject-errors -- an adapter may throw anything
  Promise.reject(thrown);

/** An error whose causes are so deep, the last of them with this message. */
function caused(depth: number, message: string): Error {
  return depth === 0 ? new Error(message) : new Error('no', { cause: caused(depth - 1, message) });
}

describe('what an exchange comes to', () => {
  it('is an identity or an error', async () => {
    const error = new Error('no');
    expect(await outcome(Promise.resolve({ provider_user_id: 'u' }))).toEqual([
      { provider_user_id: 'u' },
      undefined,
    ]);
    expect(await outcome(fails(error))).toEqual([undefined, error]);
    expect(await failure(fails(error))).toBe(error);
  });

  it('is told where it should have failed', async () => {
    await expect(failure(Promise.resolve({ provider_user_id: 'u' }))).rejects.toThrow(
      'it resolved with {"provider_user_id":"u"}',
    );
  });

  it.each([
    ['null', null],
    ['undefined', undefined],
    ['a text', 'no'],
    ['an object without a message', { error: 'invalid_grant' }],
    ['an object whose message is a number', { message: 7 }],
  ])('is no error: %s', async (_name, thrown) => {
    await expect(outcome(fails(thrown))).rejects.toThrow('what it threw is not an Error');
  });

  it('may be an error of another realm', async () => {
    expect(await outcome(fails({ message: 'no' }))).toEqual([undefined, { message: 'no' }]);
  });

  // What an adapter throws is logged with its causes, so no message may hold a secret (SECURITY.md, P5).
  it.each([
    ['client secret', SECRET],
    ['client secret', `it is ${encodeURIComponent(SECRET)}`],
    ['code', `{"code":"${CODE}"}`],
  ])('holds the %s in its message, or in one of its causes: %s', async (name, message) => {
    for (let depth = 0; depth < 5; depth++)
      await expect(outcome(fails(caused(depth, message)))).rejects.toThrow(`a message holds the ${name}`);
  });

  it.each([
    ['that says little', new Error('no', { cause: new Error('because') })],
    ['whose cause is no error', new Error('no', { cause: 'because' })],
    ['whose cause is null', new Error('no', { cause: null })],
    ['whose cause says nothing', new Error('no', { cause: {} })],
  ])('is an error %s', async (_name, error) => {
    expect(await outcome(fails(error))).toEqual([undefined, error]);
  });

  it('is an error that is its own cause', async () => {
    const error: Error & { cause?: unknown } = new Error('no');
    error.cause = error;
    expect((await outcome(fails(error)))[1]).toBe(error);
  });
});
