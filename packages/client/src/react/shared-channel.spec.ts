import { jest } from '@jest/globals';
import { LatchkeyError } from '../latchkey-error.js';
import type { Latchkey } from '../latchkey.js';
import { sharedChannel } from './shared-channel.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** A client that cannot open its channel. */
function failing(code: string): { client: Latchkey; requests: () => number } {
  let requests = 0;
  const connect = async (): Promise<never> => {
    requests++;
    throw new LatchkeyError(code);
  };
  const client = { session: {}, on: () => () => undefined, connect } as unknown as Latchkey;
  return { client, requests: () => requests };
}

it.each([
  ['network', 4],
  ['missing_peer', 1],
  ['signed_out', 1],
])('after %s, opens the channel %d times in 16 s', async (code, times) => {
  const { client, requests } = failing(code);
  sharedChannel(client).listen('note', () => undefined);
  await jest.advanceTimersByTimeAsync(16_000);
  expect(requests()).toBe(times);
});

it('does not retry without listeners', async () => {
  const { client, requests } = failing('network');
  const stop = sharedChannel(client).listen('note', () => undefined);
  stop();
  await jest.advanceTimersByTimeAsync(6000);
  const before = requests();
  await jest.advanceTimersByTimeAsync(60_000);
  expect(requests()).toBe(before);
});
