import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Background } from './background.js';

let background: Background;
beforeEach(() => {
  jest.useFakeTimers();
  background = new Background();
});
afterEach(() => {
  background.onApplicationShutdown();
  jest.useRealTimers();
  jest.restoreAllMocks();
});
const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

it('repeats work at its interval, until the service stops', async () => {
  let runs = 0;
  background.repeat('read-keys', () => runs++);
  await pass(499);
  expect(runs).toBe(0);
  await pass(1001);
  expect(runs).toBe(3);
  background.onApplicationShutdown();
  await pass(1000);
  expect(runs).toBe(3);
});

it('runs it also at the start', () => {
  let runs = 0;
  background.repeat('read-keys', () => runs++, { atStart: true });
  expect(runs).toBe(1);
});

it('varies the interval by a quarter where the list says so', async () => {
  const random = jest.spyOn(Math, 'random').mockReturnValue(0);
  let runs = 0;
  background.repeat('remove-first-rows', () => runs++);
  random.mockReturnValue(1);
  background.repeat('remove-other-rows', () => (runs += 10));
  await pass(22_500);
  expect(runs).toBe(1);
  await pass(14_999);
  expect(runs).toBe(1);
  await pass(1);
  expect(runs).toBe(11);
});

it('skips a run while the last one continues, and a stop waits for that one', async () => {
  const finishes: (() => void)[] = [];
  background.repeat('read-keys', () => new Promise<void>((resolve) => finishes.push(resolve)));
  await pass(1500);
  expect(finishes).toHaveLength(1);
  finishes[0]!();
  await pass(500);
  expect(finishes).toHaveLength(2);
  let isStopped = false;
  void background.stop('read-keys').then(() => (isStopped = true));
  await pass(1000);
  expect([isStopped, finishes.length]).toEqual([false, 2]);
  finishes[1]!();
  await pass(1000);
  expect([isStopped, finishes.length]).toEqual([true, 2]);
});

it.each([
  ['throws', () => raise()],
  ['rejects', () => Promise.reject(new Error('away'))],
])('logs a run that %s, and repeats it', async (_how, run) => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  background.repeat('rotate-keys', run);
  await pass(120_000);
  const logged = { err: new Error('away'), work: 'rotate-keys', msg: expect.stringMatching(/not rotated/) };
  expect(warn.mock.calls).toEqual([[logged], [logged]]);
});

it('refuses work that is repeated already', () => {
  background.repeat('read-keys', () => undefined);
  expect(() => background.repeat('read-keys', () => undefined)).toThrow('read-keys is repeated already');
});

function raise(): never {
  throw new Error('away');
}
