import { jest } from '@jest/globals';
import { Background } from '../platform/background.js';
import type { PresenceStore, UserDevice } from './presence.store.js';
import { PresenceTracker } from './presence.tracker.js';

describe('who is connected', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('is written in batches: one that fails is written after the others', async () => {
    const written: string[] = [];
    let fails = true;
    const store: Pick<PresenceStore, 'enter' | 'write' | 'clear'> = {
      enter: async () => undefined,
      clear: async () => undefined,
      write: async (_instance, _online, devices: readonly UserDevice[]) => {
        if (fails && devices.some(({ userId }) => userId === '1500')) throw new Error('it takes too long');
        written.push(...devices.map(({ userId }) => userId));
      },
    };
    const tracker = new PresenceTracker(store as PresenceStore, new Background());
    await tracker.onModuleInit();
    for (let i = 0; i < 3000; i++) tracker.arrived({ userId: String(i), deviceId: null });
    await jest.advanceTimersByTimeAsync(1000);
    expect(written).toHaveLength(1000);
    await jest.advanceTimersByTimeAsync(1000);
    expect([written.length, written.includes('2999'), written.includes('1500')]).toEqual([2000, true, false]);
    fails = false;
    await jest.advanceTimersByTimeAsync(1000);
    expect([written.length, new Set(written).size]).toEqual([3000, 3000]);
    await tracker.onApplicationShutdown();
  });
});
