import { jest } from '@jest/globals';
import { LatchkeyError } from '../latchkey-error.js';
import { makeArea, openSession, openTab, put, tokensNow, type Answer, type Tab } from '../testing/tab.js';

const FRESH = { access_token: 'second', expires_in: 3600 };
const DAY = 86_400;
const seconds = (count: number): Promise<void> => jest.advanceTimersByTimeAsync(count * 1000);

let open: Tab[] = [];

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  for (const { refresher } of open) refresher.stop();
  open = [];
  jest.useRealTimers();
  jest.restoreAllMocks();
});

function tab(answers: Answer[] = [], changes = {}): ReturnType<typeof openSession> {
  const made = openSession(changes, answers);
  open.push(made);
  return made;
}

describe('when it refreshes', () => {
  it.each([
    ['no jitter', 0, 3300],
    ['all of it', 1, 3270],
  ])('5 minutes before the end, with %s', async (_name, chance, due) => {
    jest.spyOn(Math, 'random').mockReturnValue(chance);
    const { requests, keeper } = tab([FRESH]);
    await seconds(due - 2);
    expect(requests()).toBe(0);
    await seconds(2 + 60); // the timer runs at least once a minute
    expect(requests()).toBe(1);
    expect(keeper.get()).toMatchObject({ access_token: 'second', refresh_token: 'lkr_1' });
  });

  it('at half of the life of a token that lives for less than ten minutes', async () => {
    const { requests } = tab([FRESH], { expires_in: 60 });
    await seconds(25);
    expect(requests()).toBe(0);
    await seconds(10);
    expect(requests()).toBe(1);
  });

  it('counts from the request: its answer may wait for as long as the device sleeps', async () => {
    const late = new Promise<object>((resolve) => setTimeout(resolve, 9000, FRESH));
    const { refresher, keeper } = tab([late]);
    const refreshed = refresher.refresh();
    await seconds(9);
    expect(await refreshed).toBe('second');
    expect(keeper.age()).toBe(9);
    expect(keeper.session()!.expiresAt).toBe(Date.now() + 3_591_000);
  });

  it('once more, when the answer came before the device slept, and is looked at afterwards', async () => {
    let arrive!: (answer: object) => void;
    const { refresher, requests } = tab([
      new Promise<object>((resolve) => (arrive = resolve)),
      { ...FRESH, access_token: 'third' },
    ]);
    const refreshed = refresher.refresh();
    await seconds(0);
    jest.setSystemTime(Date.now() + 7_200_000); // timers and the monotonic clock stop during a sleep
    arrive(FRESH);
    expect(await refreshed).toBe('third');
    expect(requests()).toBe(2);
  });

  it('after a sleep, in which the monotonic clock stopped, before which the clock of the device was set back', async () => {
    const { requests, refresher } = tab([FRESH]);
    jest.setSystemTime(Date.now() - 7_200_000);
    await seconds(60); // the timer runs
    jest.setSystemTime(Date.now() + 3_600_000);
    expect(requests()).toBe(0);
    expect(await refresher.fresh()).toBe('second');
  });

  it('in a page that was loaded after the clock of the device was set back, which another one has noticed', async () => {
    const { area } = tab();
    await seconds(3000);
    jest.setSystemTime(Date.now() - 2_500_000);
    await seconds(60);
    const later = openTab(area, [FRESH]);
    open.push(later);
    expect(later.keeper.age()).toBeCloseTo(3060, -1);
    expect(later.keeper.session()!.expiresAt).toBeCloseTo(Date.now() + 540_000, -4);
  });

  it('at once in a page that finds a token from the future: its age is unknown', async () => {
    const { requests, refresher } = tab([FRESH], { received_at: Date.now() + 60_000 });
    expect(await refresher.fresh()).toBe('second');
    expect(requests()).toBe(1);
  });

  it('rejects if a clock that was set back makes it read the storage, and another tab has signed out', async () => {
    const { area, refresher } = tab();
    area.setItem('key', '{"reason":"user"}');
    jest.setSystemTime(Date.now() - 7_200_000);
    await expect(refresher.fresh()).rejects.toMatchObject({ code: 'signed_out' });
  });

  it('never without a session', async () => {
    const made = openTab(makeArea());
    open.push(made);
    await seconds(2 * DAY);
    expect(made.requests()).toBe(0);
    await expect(made.refresher.fresh()).rejects.toMatchObject({ code: 'signed_out' });
  });
});

describe('what an answer means', () => {
  const error = (status?: number, retryAfter?: number): LatchkeyError =>
    new LatchkeyError(status ? 'some' : 'network', undefined, status, retryAfter);
  const expired = { received_at: Date.now() - 4_000_000 };

  it.each([400, 401])('%i signs out, once', async (status) => {
    const { refresher, emitted, keeper } = tab([error(status)], expired);
    const both = await Promise.allSettled([refresher.fresh(), refresher.fresh()]);
    expect(both.map((one) => (one as PromiseRejectedResult).reason as unknown)).toMatchObject([
      { code: 'signed_out' },
      { code: 'signed_out' },
    ]);
    expect(emitted).toEqual([
      ['ended', 'refused'],
      ['change', undefined],
    ]);
    expect(keeper.get()).toBeUndefined();
  });

  it.each([
    ['no answer', error()],
    ['403 of a gateway', error(403)],
    ['429', error(429)],
    ['503', error(503)],
    ['400 for the proof', new LatchkeyError('invalid_dpop_proof', '', 400)],
    ['a key that cannot be read', new LatchkeyError('key_unavailable')],
    ['200 without a token', {}],
  ])('%s is an attempt: the session stays, and the next one succeeds', async (_name, answer) => {
    const { refresher, emitted, keeper, requests } = tab([answer, FRESH], expired);
    await expect(refresher.fresh()).rejects.not.toMatchObject({ code: 'signed_out' });
    expect(keeper.get()).toBeDefined();
    await seconds(3); // at most 2 of backoff
    expect(requests()).toBe(2);
    expect(emitted).toMatchObject([['change', { userId: 'ada' }]]);
    expect(keeper.get()).toMatchObject({ access_token: 'second' });
  });

  it('a key that is absent ends the session, once that is sure, also at the service', async () => {
    const { refresher, emitted, keeper, sent } = tab([new LatchkeyError('key_lost')], expired);
    const refreshed = refresher.fresh();
    refreshed.catch(() => undefined);
    await seconds(0.9);
    expect(keeper.get()).toBeDefined();
    expect(sent).toHaveLength(1);
    await seconds(0.2);
    await expect(refreshed).rejects.toMatchObject({ code: 'signed_out' });
    expect(emitted[0]).toEqual(['ended', 'key_lost']);
    expect(sent.slice(1)).toEqual([['/oauth2/revoke', { token: 'lkr_1', reason: 'key_lost' }]]);
  });

  it('a key that another tab removed, with the session that it was of, ends no other session', async () => {
    const { refresher, emitted, keeper, area } = tab([new LatchkeyError('key_lost')], expired);
    const refreshed = refresher.fresh();
    await seconds(0.5);
    put(area, tokensNow({ access_token: 'other', refresh_token: 'lkr_2' })); // it was visible too late
    await seconds(0.6);
    expect(await refreshed).toBe('other');
    expect(keeper.get()).toMatchObject({ refresh_token: 'lkr_2' });
    expect(emitted).toMatchObject([['change', { userId: 'ada' }]]);
  });

  it('never returns the token of another user who has signed in', async () => {
    let come = (_token: object): void => undefined;
    const { refresher, area } = tab([new Promise((resolve) => (come = resolve))], expired);
    const refreshed = refresher.fresh();
    put(area, tokensNow({ access_token: 'his', refresh_token: 'lkr_2', user_id: 'bob' }));
    come({ access_token: 'hers', expires_in: 3600 });
    await expect(refreshed).rejects.toMatchObject({ code: 'signed_out' });
    expect(await refresher.fresh()).toBe('his');
  });

  it('waits longer each time, up to a minute, varied at random', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0); // no jitter, the longest wait
    const { requests, refresher } = tab([], expired);
    await refresher.fresh().catch(() => undefined);
    const counts: number[] = [];
    for (const wait of [2, 4, 8, 16, 32, 60, 60]) {
      await seconds(wait - 0.5);
      counts.push(requests());
      await seconds(0.5);
      counts.push(requests());
    }
    expect(counts).toEqual([1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8]);
  });

  it('Retry-After is kept, by requests of the application too', async () => {
    const { refresher, requests } = tab([error(503, 90), FRESH], expired);
    await expect(refresher.fresh()).rejects.toMatchObject({ retryAfter: 90 });
    await seconds(80);
    await expect(refresher.fresh()).rejects.toMatchObject({ retryAfter: 90 });
    expect(requests()).toBe(1);
    await seconds(71);
    expect(requests()).toBe(2);
    expect(await refresher.fresh()).toBe('second');
  });

  it('a token that is due but not expired is used without an answer', async () => {
    const { refresher } = tab([], { received_at: Date.now() - 3_500_000 });
    expect(await refresher.fresh()).toBe('first');
  });

  it("no answer after the refresh token's life signs out", async () => {
    const { refresher, emitted } = tab([], { ...expired, signed_in_at: Date.now() - 31 * DAY * 1000 });
    await expect(refresher.fresh()).rejects.toMatchObject({ code: 'signed_out' });
    expect(emitted[0]).toEqual(['ended', 'expired']);
  });

  it('an answer of the service counts more than the clock', async () => {
    const { refresher } = tab([FRESH], { ...expired, signed_in_at: Date.now() - 31 * DAY * 1000 });
    expect(await refresher.fresh()).toBe('second');
  });

  it('comes too late if another session has begun in the meantime', async () => {
    const late = new Promise<object>((resolve) => setTimeout(resolve, 1000, error(401)));
    const { refresher, keeper, area } = tab([late], expired);
    const refreshed = refresher.fresh().catch(() => undefined);
    put(area, tokensNow({ access_token: 'other', refresh_token: 'lkr_2' }));
    await seconds(2);
    await refreshed;
    expect(keeper.get()).toMatchObject({ refresh_token: 'lkr_2' });
  });

  it('comes too late if another tab has a newer token: it was frozen, and overtaken', async () => {
    const late = new Promise<object>((resolve) => setTimeout(resolve, 20_000, FRESH));
    const { refresher, keeper, area } = tab([late], expired);
    const refreshed = refresher.fresh();
    await seconds(13);
    put(area, tokensNow({ access_token: 'newer' }));
    await seconds(8);
    expect(await refreshed).toBe('newer');
    expect(keeper.get()).toMatchObject({ access_token: 'newer' });
  });

  it('does not bring back a session that was signed out during the request', async () => {
    const late = new Promise<object>((resolve) => setTimeout(resolve, 1000, FRESH));
    const { refresher, keeper } = tab([late], expired);
    const refreshed = refresher.fresh();
    refreshed.catch(() => undefined);
    keeper.end('user');
    await seconds(2);
    await expect(refreshed).rejects.toMatchObject({ code: 'signed_out' });
    expect(keeper.get()).toBeUndefined();
  });
});

it('asks no more once it is stopped, though an answer was still to come', async () => {
  const late = new Promise<object>((resolve) => setTimeout(resolve, 1000, FRESH));
  const { refresher, requests } = tab([late], { received_at: 0 });
  const refreshed = refresher.refresh();
  refresher.stop();
  await seconds(1);
  expect(await refreshed).toBe('second');
  await seconds(3 * 3600);
  expect(requests()).toBe(1);
});

describe('one flight', () => {
  it('for a hundred requests of a client', async () => {
    const { refresher, requests } = tab([FRESH], { received_at: 0 });
    const all = await Promise.all(Array.from({ length: 100 }, () => refresher.fresh()));
    expect(new Set(all)).toEqual(new Set(['second']));
    expect(requests()).toBe(1);
  });

  it('takes over what another tab has, without asking', async () => {
    const { area, refresher, requests, emitted } = tab();
    put(area, tokensNow({ access_token: 'second' }));
    expect(await refresher.refresh('first')).toBe('second');
    expect(requests()).toBe(0);
    expect(emitted).toMatchObject([['change', { userId: 'ada' }]]);
  });

  it('for two tabs, even if what one has stored arrives later than its release of the lock', async () => {
    const locks = {
      request: async (_name: string, { ifAvailable }: LockOptions, work: (lock: object | null) => unknown) =>
        work(ifAvailable ? null : {}),
    };
    Object.defineProperty(globalThis, 'navigator', { configurable: true, value: { locks } });
    try {
      const { area, refresher, requests } = tab([], { received_at: Date.now() - 3_500_000 });
      const refreshed = refresher.refresh();
      await seconds(0.1);
      put(area, tokensNow({ access_token: 'second' }));
      await seconds(0.2);
      expect(await refreshed).toBe('second');
      expect(requests()).toBe(0);
    } finally {
      Reflect.deleteProperty(globalThis, 'navigator');
    }
  });
});
