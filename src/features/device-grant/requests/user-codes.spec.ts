import type { RateLimits } from '../../../platform/http/rate-limit.js';
import { type DeviceCodes, UserCodes } from './codes.js';
import type { DeviceRequest } from './device-request.entity.js';
import type { DeviceRequestStore } from './device-request.store.js';

describe('a right user code among many guesses at one time', () => {
  /** Look-ups that wait for the database, in their order. */
  let waiting: ((found: DeviceRequest | null) => void)[];
  let wrong: number;
  let codes: UserCodes;

  beforeEach(() => {
    waiting = [];
    wrong = 0;
    const requests = { findOpen: () => new Promise((resolve) => waiting.push(resolve)) };
    const limits = {
      isExceeded: () => Promise.resolve(wrong > 10),
      count: () => (++wrong > 10 ? Promise.reject(new Error('slow_down')) : Promise.resolve()),
    };
    const hashes = { hashUserCode: () => Buffer.alloc(0) };
    codes = new UserCodes(
      hashes as unknown as DeviceCodes,
      requests as unknown as DeviceRequestStore,
      limits as unknown as RateLimits,
    );
  });

  it.each([
    ['is accepted within the limit', 9, 'found'],
    ['is refused beyond the limit', 11, 'slow_down'],
  ])('%s', async (_, guesses, expected) => {
    const request = { hintedUserId: null } as DeviceRequest;
    const wrongOnes = Array.from({ length: guesses }, () => codes.find('BBBB-BBBB', '::1').catch(() => null));
    const right = codes.find('CCCC-CCCC', '::1').then(
      (found) => (found === request ? 'found' : 'not found'),
      (error: Error) => error.message,
    );
    await new Promise(setImmediate);
    for (const answer of waiting.slice(0, -1)) answer(null);
    await Promise.all(wrongOnes);
    waiting.at(-1)!(request);
    expect(await right).toBe(expected);
  });

  it('is found after any number of texts that are no codes', async () => {
    for (let i = 0; i < 20; i++) expect(await codes.find(`BBBB-BBB${i}`, '::1')).toBeUndefined();
    expect([wrong, waiting.length]).toEqual([0, 0]);
  });
});
