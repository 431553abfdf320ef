import { jest } from '@jest/globals';
import { stored } from './storage.js';
import { makeArea, openSession, openTab, put, tokenOf, tokensNow } from '../testing/tab.js';

const SHOWN = ['userId', 'deviceId', 'expiresAt', 'bound', 'claims'];
/** What `GET /me` may answer. */
const ADA = { username: 'Ada', email: null, avatar_url: 'https://a.example/a.png' };

it('reports one reason in all tabs', () => {
  const area = makeArea();
  put(area, tokensNow());
  const [one, other] = [openTab(area), openTab(area)];
  one.keeper.end('user');
  other.keeper.end('signed_out'); // concurrently
  for (const { emitted } of [one, other]) {
    expect(emitted).toEqual([
      ['ended', 'user'],
      ['change', undefined],
    ]);
  }
});

it.each([
  ['user', false], // the service does not know yet: a tab with another session would ask too early
  ['signed_out', true],
  ['refused', true],
] as const)('notifies the other tabs whether the service knows: %s', (reason, ended) => {
  const { keeper, notified } = openSession();
  keeper.end(reason);
  expect(notified).toEqual([ended]);
});

// What one tab stores the others, which may be different processes, see a moment later.
it.each(['user', 'refused'] as const)(
  'ends a session once, though a tab that has not seen that yet puts it back (%s)',
  (reason) => {
    const area = makeArea();
    const tokens = tokensNow();
    put(area, tokens);
    const [quick, slow, third] = [openTab(area), openTab(area), openTab(area)];
    quick.keeper.end(reason);
    third.keeper.reload();
    put(area, { ...tokens, profile: { username: 'Ada' } });
    slow.keeper.reload();
    expect(third.keeper.reload()).toBeUndefined();
    for (const { keeper } of [slow, quick, third]) expect(keeper.reload()).toBeUndefined();
    for (const { emitted } of [slow, quick, third])
      expect(emitted.slice(-2)).toEqual([
        ['ended', reason],
        ['change', undefined],
      ]);
    expect([quick.emitted.length, third.emitted.length]).toEqual([2, 2]);
    expect(third.notified).toEqual([false]); // for storages without events
    slow.keeper.put(tokensNow({ refresh_token: 'lkr_2' })); // another sign-in
    for (const { keeper } of [quick, third])
      expect(keeper.reload()).toMatchObject({ refresh_token: 'lkr_2' });
  },
);

it('accepts either of two sessions, and never restores its own', () => {
  const area = makeArea();
  const [first, second] = [tokensNow(), tokensNow({ refresh_token: 'lkr_2', access_token: 'other' })];
  put(area, first);
  const one = openTab(area);
  one.keeper.end('user');
  put(area, second);
  const other = openTab(area);
  one.keeper.reload();
  put(area, first); // by a slow tab
  const reload = (): unknown[] => [one, other].map(({ keeper }) => keeper.reload()?.refresh_token);
  expect([reload(), reload()]).toEqual([
    ['lkr_1', 'lkr_1'],
    ['lkr_1', 'lkr_1'],
  ]);
});

it.each([
  ['emptied', undefined],
  ['written over', '{"x":1}'],
])('has a session again where the storage was %s, and another tab puts it back', (_how, text) => {
  const area = makeArea();
  const tokens = tokensNow();
  put(area, tokens);
  const { keeper } = openTab(area);
  if (text) area.setItem('key', text);
  else area.removeItem('key');
  expect(keeper.reload()).toBeUndefined();
  put(area, tokens);
  expect(keeper.reload()).toEqual(tokens);
});

it("ends one user's session before another's begins", () => {
  const { area, keeper, emitted } = openSession();
  put(area, tokensNow({ access_token: 'second', user_id: 'grace' }));
  keeper.reload();
  expect(emitted).toMatchObject([
    ['ended', 'user'],
    ['change', { userId: 'grace' }],
  ]);
});

describe('the key of a session that is bound to one', () => {
  const bound = (key: string) => ({ binding: { issuer: 'https://id.example', key } });

  it('goes with it, once; not at a refresh', () => {
    const { keeper, dropped } = openSession(bound('one'));
    keeper.put({ ...tokensNow(bound('one')), access_token: 'second' });
    expect(dropped).toEqual([]);
    keeper.end('user');
    keeper.end('signed_out');
    expect(dropped).toEqual(['one']);
  });

  it('stays when another one takes its place, since a slower tab may put its session back', () => {
    const area = makeArea();
    const first = tokensNow(bound('one'));
    put(area, first);
    const [slow, quick] = [openTab(area), openTab(area)];
    quick.keeper.put({ ...tokensNow(bound('two')), access_token: 'other', refresh_token: 'lkr_2' });
    slow.keeper.put({ ...first, access_token: 'second' }); // it has seen nothing of that yet
    expect(quick.keeper.reload()).toMatchObject(bound('one'));
    expect([...slow.dropped, ...quick.dropped]).toEqual([]);
  });
});

it.each<[string, string | object]>([
  ['nonsense', '{'],
  ['half of it', '{"access_token":"a","expires_in":3600}'],
  // what another script may have stored
  ['a life that is a text', { expires_in: '3600' }],
  ['a number for a user', { user_id: 7 }],
  ['a binding without a key', { binding: { issuer: 'https://id.example' } }],
])('takes %s in the storage for no session', (_name, content) => {
  const area = makeArea();
  area.setItem('key', typeof content === 'string' ? content : JSON.stringify({ ...tokensNow(), ...content }));
  expect(openTab(area).keeper.session()).toBeUndefined();
});

describe('the session that is shown', () => {
  it('is one object until it changes', () => {
    const { area, keeper } = openSession();
    const other = openTab(area);
    const first = keeper.session();
    keeper.reload();
    expect(keeper.session()).toBe(first);

    keeper.put({ ...tokensNow(), access_token: 'second' });
    const second = keeper.session();
    expect(second).not.toBe(first);
    expect(keeper.session()).toBe(second);

    other.keeper.reload();
    other.keeper.end('user'); // in another tab
    keeper.reload();
    expect(keeper.session()).toBeUndefined();
  });

  it('has the profile in every tab, after a refresh, and after a start', () => {
    const area = makeArea();
    put(area, tokensNow());
    const [one, other] = [openTab(area), openTab(area)];
    const before = one.keeper.session();
    expect(before).not.toHaveProperty('username');
    one.keeper.putProfile({ ...ADA, user_id: 'ada' });
    other.keeper.reload();
    const who = { username: 'Ada', avatarUrl: 'https://a.example/a.png' };
    for (const { keeper, emitted } of [one, other]) {
      expect(emitted).toMatchObject([['change', who]]);
      expect(keeper.session()).not.toHaveProperty('email');
    }
    expect(one.keeper.session()).not.toBe(before);
    one.keeper.putProfile({ ...ADA, user_id: 'ada' }); // nothing new
    expect(one.emitted).toHaveLength(1);
    expect(one.keeper.age()).toBeCloseTo(other.keeper.age(), 1);

    one.keeper.put({ ...one.keeper.get()!, access_token: 'second' });
    expect(openTab(area).keeper.session()).toMatchObject(who);
  });

  it('ignores an answer about another user', () => {
    const { keeper, emitted } = openSession();
    keeper.putProfile({ ...ADA, user_id: 'grace' });
    expect(emitted).toEqual([]);
  });

  it('ignores an answer after its end, so that the reason stays stored', () => {
    const { area, keeper } = openSession();
    keeper.end('user');
    keeper.putProfile({} as never);
    expect(area.getItem('key')).toBe('{"reason":"user"}');
  });

  it('shows only texts, and only an address that is one', () => {
    const area = makeArea();
    const profile = { username: { evil: 1 }, email: '', avatarUrl: 'javascript:alert(1)' };
    put(area, tokensNow({ profile } as never));
    expect(Object.keys(openTab(area).keeper.session()!)).toEqual(SHOWN);
  });
});

it('takes over how old a token is by the other tabs: it may have been frozen while the device slept, and its clock was set back', () => {
  const [hour, begun] = [3_600_000, Date.now()];
  const now = jest.spyOn(Date, 'now').mockReturnValue(begun);
  const area = makeArea();
  put(area, tokensNow());
  const [awake, frozen, silent] = [openTab(area), openTab(area), openTab(area)];
  now.mockReturnValue(begun + hour);
  expect(awake.keeper.age()).toBeCloseTo(3600, 0);
  now.mockReturnValue(begun - hour);
  expect(awake.keeper.age()).toBeCloseTo(3600, 0);
  silent.keeper.reload();
  for (const { keeper } of [frozen, silent, openTab(area), awake]) expect(keeper.age()).toBeCloseTo(3600, 0);
  now.mockRestore();
});

it('takes a token from the future for an old one, and so does a tab that was frozen while the clock was set back', () => {
  const begun = Date.now();
  const now = jest.spyOn(Date, 'now').mockReturnValue(begun);
  const area = makeArea();
  put(area, tokensNow());
  const frozen = openTab(area);
  now.mockReturnValue(begun - 3_600_000);
  for (const { keeper } of [openTab(area), frozen]) expect(keeper.age()).toBeCloseTo(3600, 0);
  now.mockRestore();
});

it('keeps what it knows of how old its token is when the clock is set back, also where another tab has stored more of it', () => {
  const begun = Date.now();
  const now = jest.spyOn(Date, 'now').mockReturnValue(begun);
  const area = makeArea();
  put(area, tokensNow({ received_at: begun - 300_000 }));
  const [one, other] = [openTab(area), openTab(area)];
  other.keeper.putProfile({ ...ADA, user_id: 'ada' });
  now.mockReturnValue(begun - 3_600_000);
  expect(one.keeper.age()).toBeCloseTo(300, 0);
  now.mockRestore();
});

it('signs out for good in a storage that is full', () => {
  const area = makeArea();
  put(area, tokensNow());
  const full = {
    ...area,
    setItem(key: string, text: string) {
      if (text.length > area.getItem(key)!.length) throw new DOMException('full', 'QuotaExceededError');
      area.setItem(key, text);
    },
  };
  const { keeper } = openTab(full);
  keeper.put(tokensNow({ access_token: 'longer than before' }));
  expect(keeper.get()).toMatchObject({ access_token: 'longer than before' });
  keeper.end('user');
  expect(openTab(area).keeper.session()).toBeUndefined(); // after a reload
});

function refuse(): never {
  throw new DOMException('no', 'QuotaExceededError');
}
it.each([
  ['refuses everything', { getItem: refuse, setItem: refuse, removeItem: refuse }],
  ['is full', { ...makeArea(), setItem: refuse }],
  ['is forbidden', 'localStorage' as const],
])('goes on in memory where the storage %s', (_how, area) => {
  Object.defineProperty(globalThis, 'localStorage', { configurable: true, get: refuse });
  const broken = stored<string>(area, 'key');
  Reflect.deleteProperty(globalThis, 'localStorage');
  expect(broken.get()).toBeUndefined();
  broken.put('kept');
  expect(broken.get()).toBe('kept');
  broken.put();
  expect(broken.get()).toBeUndefined();
});

describe('a storage that was emptied', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('is reported by one of the tabs that notice it', () => {
    const area = makeArea();
    put(area, tokensNow());
    const tabs = [openTab(area), openTab(area), openTab(area)];
    area.removeItem('key');
    for (const { keeper } of tabs) keeper.reload();
    jest.advanceTimersByTime(1900);
    expect(tabs.flatMap(({ lost }) => lost)).toEqual([]);
    jest.advanceTimersByTime(3000);
    expect(tabs.flatMap(({ lost }) => lost)).toEqual(['lkr_1']);
    for (const { emitted } of tabs) expect(emitted[0]).toEqual(['ended', 'signed_out']);
  });

  it.each([
    ['with the session', () => tokensNow()],
    ['with another', () => tokensNow({ refresh_token: 'lkr_2' })],
  ])('is not reported if another tab fills it again, %s', (_what, tokens) => {
    const { area, keeper, lost } = openSession();
    area.removeItem('key');
    keeper.reload();
    put(area, tokens());
    jest.advanceTimersByTime(5000);
    expect(lost).toEqual([]);
    expect(keeper.reload()).toBeDefined();
  });

  it('is not reported after a sign-out', () => {
    const { keeper, lost } = openSession();
    keeper.end('user');
    jest.advanceTimersByTime(5000);
    expect(lost).toEqual([]);
  });
});

it('an end that is about a replaced session leaves the newer one', () => {
  const tab = openSession({ access_token: tokenOf({ sid: 'new' }) });
  tab.keeper.end('signed_out', tokenOf({ sid: 'old' }));
  expect(tab.keeper.get()).toBeDefined();
  expect(tab.emitted).toEqual([]);
  tab.keeper.end('signed_out', tokenOf({ sid: 'new' }, 'older token'));
  expect(tab.keeper.get()).toBeUndefined();
});
