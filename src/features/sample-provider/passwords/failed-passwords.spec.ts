import { jest } from '@jest/globals';
import { FailedPasswords, type Attempt } from './password-check.js';

let failures: FailedPasswords;

beforeEach(() => {
  jest.useFakeTimers();
  failures = new FailedPasswords();
});
afterEach(() => jest.useRealTimers());

/** How many of these attempts, all at the same time, are admitted. */
async function admitted(attempts: readonly Attempt[]): Promise<number> {
  const waits = await Promise.all(attempts.map((attempt) => failures.begin(attempt)));
  return waits.filter((seconds) => seconds === 0).length;
}
const times = (count: number, attempt: (index: number) => Attempt): Attempt[] =>
  Array.from({ length: count }, (_, index) => attempt(index));
const networks = (count: number, each: number, login = 'ada'): Attempt[] =>
  times(count * each, (index) => ({ login, network: `192.0.2.${Math.floor(index / each)}` }));

it('lets ten fail for a login from one network, and none for it from elsewhere', async () => {
  const stranger = { login: 'ada', network: '192.0.2.1' };
  expect(await admitted(times(15, () => stranger))).toBe(10);
  expect(await failures.secondsToWait(stranger)).toBe(60);
  expect(await failures.secondsToWait({ login: 'grace', network: '192.0.2.1' })).toBe(0);
  expect(await failures.secondsToWait({ login: 'ada', network: '192.0.2.2' })).toBe(0);
});

it('lets thirty fail from one network, whatever the logins', async () => {
  const from = (network: string) => times(100, (index) => ({ login: `login-${index}`, network }));
  expect(await admitted(from('192.0.2.1'))).toBe(30);
  expect(await failures.secondsToWait({ login: 'ada', network: '192.0.2.1' })).toBe(60);
  expect(await admitted(from('192.0.2.2'))).toBe(30);
});

it('lets a hundred fail for a login from all networks', async () => {
  expect(await admitted(networks(20, 10))).toBe(100);
  expect(await failures.secondsToWait({ login: 'ada', network: '198.51.100.1' })).toBe(60);
  expect(await failures.secondsToWait({ login: 'grace', network: '192.0.2.1' })).toBe(0);
});

it('counts no attempt that it refuses, nor one that has succeeded', async () => {
  const ada = { login: 'ada', network: '192.0.2.1' };
  await admitted(times(1000, () => ada)); // 990 refused: they have not used up the network's thirty
  expect(await admitted(times(100, (index) => ({ login: `login-${index}`, network: ada.network })))).toBe(20);
  for (let index = 0; index < 200; index++) {
    const right = { login: 'grace', network: '192.0.2.2' };
    expect(await failures.begin(right)).toBe(0);
    await failures.forgive(right);
  }
});

it('forgets after a minute, and stores nothing for a login that is only looked up', async () => {
  expect(await admitted(networks(20, 10))).toBe(100);
  await failures.secondsToWait({ login: 'somebody', network: '203.0.113.1' });
  expect(jest.getTimerCount()).toBe(20 + 20 + 1); // one a key: each ends by itself
  await jest.advanceTimersByTimeAsync(60_000);
  expect(jest.getTimerCount()).toBe(0);
  expect(await admitted(networks(1, 10))).toBe(10);
});
