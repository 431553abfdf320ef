import { jest } from '@jest/globals';
import { LatchkeyError } from '../latchkey-error.js';
import { openSession, openTab, type Answer, type Tab } from '../testing/tab.js';

const HALF_HOUR = 1800;
/** The session and its token end together, as after a sign-in. */
const ENDS = { expires_in: HALF_HOUR, idle_expires_in: HALF_HOUR, refresh_token_expires_in: 86_400 };
const answer = (changes: object = {}): object => ({ access_token: 'second', ...ENDS, ...changes });
const seconds = (count: number): Promise<void> => jest.advanceTimersByTimeAsync(count * 1000);
/** Sets the clock of the device, as a sleep does; timers do not run. */
const jump = (count: number): void => jest.setSystemTime(Date.now() + count * 1000);

let open: Tab[] = [];

beforeEach(() => {
  jest.useFakeTimers();
  jest.spyOn(Math, 'random').mockReturnValue(0);
});
afterEach(() => {
  for (const { refresher } of open) refresher.stop();
  open = [];
  jest.useRealTimers();
  jest.restoreAllMocks();
});

function tab(changes: object = {}, answers: Answer[] = []): ReturnType<typeof openSession> {
  const made = openSession({ ...ENDS, ...changes }, answers);
  open.push(made);
  return made;
}

/** Another tab of the same browser. */
function beside({ area }: ReturnType<typeof openSession>, answers: Answer[] = []): Tab {
  const made = openTab(area, answers);
  open.push(made);
  return made;
}

const reasons = ({ emitted }: Tab): unknown[] =>
  emitted.filter(([name]) => name === 'ended').map(([, reason]) => reason);

describe('what a refresh reports', () => {
  it.each([
    ['a user who has not acted since the sign-in', [], 700, 700],
    ['a user who has acted', [100], 700, 600],
    ['the last of several actions, and whole seconds', [100, 300.2, 650.5], 700, 49],
    ['a user who acts now', [700], 700, 0],
  ])('%s', async (_name, actions, at, idle_for) => {
    const { refresher, idle, sent, keeper } = tab({}, [answer({ idle_expires_in: HALF_HOUR - idle_for })]);
    let now = 0;
    for (const action of actions) {
      await seconds(action - now);
      now = action;
      idle.acted();
    }
    await seconds(at - now);
    await refresher.refresh();
    expect(sent).toEqual([['/oauth2/refresh', { refresh_token: 'lkr_1', idle_for }]]);
    expect(idle.left()).toBeCloseTo(HALF_HOUR - idle_for, -1);
    expect(idle.limit()).toBe(HALF_HOUR);
    expect(keeper.get()).toMatchObject({ idle_for });
  });

  it('the actions of all tabs', async () => {
    const first = tab({}, [answer()]);
    const second = beside(first);
    await seconds(400);
    second.idle.acted();
    await seconds(30);
    await first.refresher.refresh();
    expect(first.sent).toEqual([['/oauth2/refresh', { refresh_token: 'lkr_1', idle_for: 30 }]]);
  });

  it('nothing without idle time, for which nothing is stored or read', async () => {
    const { refresher, sent, area, idle } = tab({ idle_expires_in: undefined }, [
      answer({ idle_expires_in: undefined }),
    ]);
    const read = jest.spyOn(area, 'getItem');
    await refresher.refresh();
    idle.check();
    expect(sent).toEqual([['/oauth2/refresh', { refresh_token: 'lkr_1' }]]);
    expect(read.mock.calls.filter(([key]) => key === 'action')).toEqual([]);
    expect(area.getItem('action')).toBeNull();
  });

  it('nothing any more once the service has no idle time', async () => {
    const without = { access_token: 'second', expires_in: 3600 };
    const { refresher, sent, idle } = tab({}, [without, { ...without, access_token: 'third' }]);
    await seconds(60);
    await refresher.refresh();
    expect(idle.left()).toBe(Infinity);
    await refresher.refresh();
    expect(sent.at(-1)).toEqual(['/oauth2/refresh', { refresh_token: 'lkr_1' }]);
  });

  it('not the action of an earlier session', async () => {
    const { refresher, area, sent } = tab({}, [answer()]);
    area.setItem('action', JSON.stringify({ of: 1, at: Date.now() + 400_000 }));
    await seconds(500);
    await refresher.refresh();
    expect(sent).toEqual([['/oauth2/refresh', { refresh_token: 'lkr_1', idle_for: 500 }]]);
  });

  it.each(['{', '7', 'null', '{"of":"x","at":"y"}', '{"at":null}'])(
    'nothing that a script has stored: %s',
    async (text) => {
      const { refresher, area, sent } = tab({}, [answer()]);
      area.setItem('action', text);
      await seconds(500);
      await refresher.refresh();
      expect(sent).toEqual([['/oauth2/refresh', { refresh_token: 'lkr_1', idle_for: 500 }]]);
    },
  );
});

describe('when it refreshes', () => {
  const ENDS_FIRST = { expires_in: 1200, refresh_token_expires_in: 1200 };
  it.each([
    ['nobody acts: never, since the token lives as long as the session', {}, undefined, undefined],
    ['the user has acted: 5 minutes before the end', {}, 60, 1500],
    ['a token lives for 5 minutes: at half of its life', { expires_in: 300 }, undefined, 150],
    ['the idle time is nearly over: never', { expires_in: 240, idle_expires_in: 240 }, undefined, undefined],
    ['the session has its end: once, then', ENDS_FIRST, undefined, 1202],
    ['the session has its end, and the user has acted', ENDS_FIRST, 60, 900],
  ])('%s', async (_name, ends, action, first) => {
    const { idle, sent } = tab(ends);
    let now = 0;
    for (; now < 1795 && sent.length === 0; now++) {
      if (now === action) idle.acted();
      await seconds(1);
    }
    const reported = first === undefined ? [] : [first - (action ?? 0)];
    expect(sent.map(([, body]) => (body as { idle_for: number }).idle_for)).toEqual(reported);
  });

  it('not on demand either while nobody acts, however often the page asks for a token', async () => {
    const { refresher, requests } = tab();
    for (let second = 0; second < HALF_HOUR - 10; second += 10) {
      await seconds(10);
      expect(await refresher.fresh()).toBe('first');
    }
    expect(requests()).toBe(0);
  });
});

describe('the end', () => {
  it('comes when nobody has acted, without a request, in all tabs', async () => {
    const first = tab();
    const second = beside(first);
    await seconds(HALF_HOUR - 5);
    expect([first.keeper.session(), second.keeper.session()]).not.toContain(undefined);
    await seconds(10);
    second.keeper.reload();
    expect([reasons(first), reasons(second)]).toEqual([['idle'], ['idle']]);
    expect(first.area.getItem('key')).toBe('{"reason":"idle"}');
    expect(first.requests() + second.requests()).toBe(0);
  });

  it.each([
    ['an action', 0, true],
    ['an action in another tab', 1, true],
    ['none', undefined, false],
  ])('after %s', async (_name, who, lives) => {
    const first = tab();
    const tabs = [first, beside(first)];
    await seconds(HALF_HOUR - 30);
    if (who !== undefined) tabs[who]!.idle.acted();
    await seconds(60);
    expect(tabs.map(({ keeper }) => !!keeper.reload())).toEqual([lives, lives]);
  });

  it('is known at once after a sleep, before a token is given out', async () => {
    const { refresher, keeper, requests } = tab();
    await seconds(60);
    jump(HALF_HOUR);
    await expect(refresher.fresh()).rejects.toMatchObject({ code: 'signed_out' });
    expect(keeper.session()).toBeUndefined();
    expect(requests()).toBe(0);
  });

  it('is no sign-out of a session that another tab has stored meanwhile', async () => {
    const first = tab();
    jump(HALF_HOUR);
    const { access_token } = first.keeper.get()!;
    const newer = { ...first.keeper.get()!, received_at: Date.now(), signed_in_at: Date.now() };
    first.area.setItem('key', JSON.stringify({ ...newer, access_token: 'other' }));
    expect(await first.refresher.fresh()).not.toBe(access_token);
    expect(reasons(first)).toEqual([]);
  });

  it('is known at the start', async () => {
    const { area } = tab();
    jump(HALF_HOUR);
    const later = openTab(area);
    open.push(later);
    later.idle.check();
    expect(later.keeper.session()).toBeUndefined();
  });

  it('is not near if the refresh token has long to live, and the service cannot be reached', async () => {
    const network = (): LatchkeyError => new LatchkeyError('network');
    const { refresher } = tab(
      { idle_expires_in: undefined, refresh_token_expires_in: 86_400, signed_in_at: 0 },
      [network()],
    );
    await expect(refresher.refresh()).rejects.toMatchObject({ code: 'network' });
  });

  it('is `expired` once the refresh token has ended, and the service cannot be reached', async () => {
    const made = tab({ idle_expires_in: undefined, refresh_token_expires_in: 2000 }, [
      new LatchkeyError('network'),
    ]);
    jump(2001);
    await expect(made.refresher.refresh()).rejects.toMatchObject({ code: 'signed_out' });
    expect(reasons(made)).toEqual(['expired']);
  });
});

describe('a clock that is set', () => {
  it.each([-3600, -86_400])('by %i s does not lengthen the session', async (by) => {
    const made = tab();
    await seconds(HALF_HOUR - 60);
    jump(by);
    await seconds(50);
    expect(reasons(made)).toEqual([]);
    await seconds(15);
    expect(reasons(made)).toEqual(['idle']);
  });

  it('back hides no action of another tab', async () => {
    const first = tab();
    const second = beside(first);
    await seconds(1000);
    jump(-3600);
    second.idle.acted();
    await seconds(HALF_HOUR - 100);
    expect(reasons(first)).toEqual([]);
    await seconds(105);
    expect(reasons(first)).toEqual(['idle']);
  });

  it('back makes the age of an action unknown to a new page, once: pages that are loaded again and again are no action', async () => {
    const made = tab();
    await seconds(1000);
    made.idle.acted();
    jump(-7200);
    expect(beside(made).idle.idleFor()).toBe(0);
    await seconds(600);
    expect(beside(made).idle.idleFor()).toBeCloseTo(600, 0);
  });
});
