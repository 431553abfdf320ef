import { jest } from '@jest/globals';
import { LatchkeyError } from '../latchkey-error.js';
import type { Latchkey } from '../latchkey.js';
import { sharedChannel } from './shared-channel.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** A client that cannot open its channel. */
function failing(code: string): { client: Latchkey; asked: () => number } {
  let asked = 0;
  const connect = async (): Promise<never> => {
    asked++;
    throw new LatchkeyError(code);
  };
  const client = { session: {}, on: () => () => undefined, connect } as unknown as Latchkey;
  return { client, asked: () => asked };
}

it.each([
  ['network', 4],
  ['missing_peer', 1],
  ['signed_out', 1],
])('after %s, opens the channel %d times in 16 s', async (code, times) => {
  const { client, asked } = failing(code);
  sharedChannel(client).listen('note', () => undefined);
  await jest.advanceTimersByTimeAsync(16_000);
  expect(asked()).toBe(times);
});

it('does not retry without listeners', async () => {
  const { client, asked } = failing('network');
  const stop = sharedChannel(client).listen('note', () => undefined);
  stop();
  await jest.advanceTimersByTimeAsync(6000);
  const before = asked();
  await jest.advanceTimersByTimeAsync(60_000);
  expect(asked()).toBe(before);
});
