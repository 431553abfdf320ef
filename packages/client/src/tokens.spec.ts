import { stored } from './storage.js';
import { makeArea, openTab, put, tokensNow } from './testing/tab.js';

it('tells the other tab the same reason, whichever tab ended the session', () => {
  const area = makeArea();
  put(area, tokensNow());
  const [one, other] = [openTab(area), openTab(area)];
  one.keeper.end('user');
  other.keeper.end('signed_out'); // the service says so at the same moment
  for (const { emitted } of [one, other]) {
    expect(emitted).toEqual([
      ['ended', 'user'],
      ['change', undefined],
    ]);
  }
});

it.each([
  ['user', false], // the service will be told next: a tab with a session of its own would ask too early
  ['signed_out', true],
  ['refused', true],
] as const)('tells the other tabs whether the service knows: %s', (reason, ended) => {
  const area = makeArea();
  put(area, tokensNow());
  const { keeper, told } = openTab(area);
  keeper.end(reason);
  expect(told).toEqual([ended]);
});

it("ends one user's session before another's begins", () => {
  const area = makeArea();
  put(area, tokensNow());
  const { keeper, emitted } = openTab(area);
  put(area, tokensNow({ access_token: 'second', user_id: 'grace' }));
  keeper.reload();
  expect(emitted).toMatchObject([
    ['ended', 'user'],
    ['change', { userId: 'grace' }],
  ]);
});

describe('the key of a session that is bound to one', () => {
  const bound = (key: string) => ({ binding: { issuer: 'https://id.example', key } });

  it('shows in the session', () => {
    const area = makeArea();
    put(area, tokensNow());
    expect(openTab(area).keeper.session()!.bound).toBe(false);
    put(area, tokensNow(bound('one')));
    expect(openTab(area).keeper.session()!.bound).toBe(true);
  });

  it('goes with it, once; not at a refresh', () => {
    const area = makeArea();
    put(area, tokensNow(bound('one')));
    const { keeper, dropped } = openTab(area);
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

it.each([
  ['nonsense', '{'],
  ['null', 'null'],
  ['a text', '"lkr"'],
  ['half of it', '{"access_token":"a","expires_in":3600}'],
  ['no life', '{"access_token":"a","refresh_token":"r"}'],
])('takes %s in the storage for no session', (_name, text) => {
  const area = makeArea();
  area.setItem('key', text);
  expect(openTab(area).keeper.session()).toBeUndefined();
});

it('shows no token in its session', () => {
  const area = makeArea();
  put(area, tokensNow());
  expect(Object.keys(openTab(area).keeper.session()!)).toEqual(['userId', 'deviceId', 'expiresAt', 'bound']);
});

it('goes on in memory where the storage is full or forbidden', () => {
  const full = stored<string>(
    {
      ...makeArea(),
      setItem() {
        throw new DOMException('full', 'QuotaExceededError');
      },
    },
    'key',
  );
  full.put('kept');
  expect(full.get()).toBe('kept');
  Object.defineProperty(globalThis, 'localStorage', {
    configurable: true,
    get() {
      throw new DOMException('no', 'SecurityError');
    },
  });
  const forbidden = stored<string>('localStorage', 'key');
  Reflect.deleteProperty(globalThis, 'localStorage');
  forbidden.put('kept');
  expect(forbidden.get()).toBe('kept');
});
