import { jest } from '@jest/globals';
import { LatchkeyError } from '../latchkey-error.js';
import { makeArea, openTab, put, tokenOf, tokensNow, type Answer, type Tab } from '../testing/tab.js';
import { readClaims } from './claims.js';

const ADMIN = { roles: ['admin'], claims: { plan: 'pro' } };
const READER = { roles: ['reader'], name: 'Ada Ünal', claims: { plan: 'pro', of: { team: 1, b: [2] } } };
const fresh = (claims: object, id = 'fresh'): object => ({
  access_token: tokenOf(claims, id),
  expires_in: 3600,
});
const seconds = (count: number): Promise<void> => jest.advanceTimersByTimeAsync(count * 1000);

let open: Tab[] = [];
beforeEach(() => void jest.useFakeTimers());
afterEach(() => {
  for (const { refresher } of open.splice(0)) refresher.stop();
  jest.useRealTimers();
});

/** Tabs of one browser, with the claims of an admin. Each answers its own requests. */
function tabs(...answers: Answer[][]): Tab[] {
  const area = makeArea();
  put(area, tokensNow({ access_token: tokenOf(ADMIN) }));
  open = answers.map((ofTab) => openTab(area, ofTab));
  return open;
}
const rolesOf = ({ keeper }: Tab): unknown => keeper.session()?.claims.roles;

it('are read of the token, whatever their letters; what is no token of the service has none', () => {
  expect(readClaims(tokenOf({ ...READER, sub: 'u', exp: 1 }))).toEqual({
    roles: ['reader'],
    name: 'Ada Ünal',
    plan: 'pro',
    of: { team: 1, b: [2] },
  });
  for (const other of ['', 'first', 'a.b.c', 'a.e30.c', `a.${btoa('null')}.c`, `a.${btoa('{"claims":7}')}.c`])
    expect(readClaims(other)).toEqual({});
  const odd = readClaims(`a.${btoa('{"claims":{"__proto__":{"roles":["admin"]},"constructor":1}}')}.c`);
  for (const name of ['__proto__', 'constructor']) expect(Object.hasOwn(odd, name)).toBe(true);
  expect([odd.roles, ({} as { roles?: unknown }).roles]).toEqual([undefined, undefined]);
});

it('stay through a refresh, as the same object', async () => {
  const [tab] = tabs([fresh(ADMIN)]);
  const before = tab!.keeper.session()!;
  expect(before.claims).toEqual({ roles: ['admin'], plan: 'pro' });
  await tab!.refresher.refresh();
  expect(tab!.keeper.session()).not.toBe(before);
  expect(tab!.keeper.session()!.claims).toBe(before.claims);
});

it('are replaced at once by one refresh of one tab; no request if the token has them', async () => {
  const [one, other] = tabs([fresh(READER)], [fresh(READER, 'again')]);
  const news = { of: { b: [2], team: 1 }, plan: 'pro', name: 'Ada Ünal', roles: ['reader'] }; // in another order
  one!.refresher.expectClaims(news);
  await seconds(0);
  other!.refresher.expectClaims(news);
  await seconds(1);
  one!.refresher.expectClaims(news); // repeated after a reconnection
  await seconds(1);
  expect([rolesOf(one!), rolesOf(other!)]).toEqual([['reader'], ['reader']]);
  expect([one!.requests(), other!.requests()]).toEqual([1, 0]);
  for (const { emitted } of [one!, other!])
    expect(emitted).toMatchObject([['change', { claims: { roles: ['reader'] } }]]);
});

it('are asked for again if the refresh had begun before the change, and no third time', async () => {
  let arrive!: (answer: object) => void;
  const [tab] = tabs([
    new Promise<object>((resolve) => (arrive = resolve)),
    fresh(READER),
    fresh(READER, 'third'),
  ]);
  void tab!.refresher.refresh();
  await seconds(0);
  tab!.refresher.expectClaims({ roles: ['reader'], never: 'in a token' });
  arrive(fresh(ADMIN, 'late'));
  await seconds(60);
  expect(rolesOf(tab!)).toEqual(['reader']);
  expect(tab!.requests()).toBe(2);
});

it('that change all the time cost a few refreshes a second, and the last ones are got', async () => {
  let last = {};
  let count = 0;
  const answers = Object.assign([], { shift: () => fresh(last, `n${count++}`) });
  const [tab] = tabs(answers);
  for (let n = 0; n < 200; n++) {
    last = { claims: { n } };
    tab!.refresher.expectClaims({ n });
    await seconds(0.01);
  }
  await seconds(1);
  expect(tab!.keeper.session()!.claims).toEqual({ n: 199 });
  expect(tab!.requests()).toBeLessThan(12);
});

it('are asked for with back-off while the service is away; the token stays valid meanwhile', async () => {
  const away = new LatchkeyError('network');
  const [tab] = tabs([away, away, away, fresh(READER)]);
  tab!.refresher.expectClaims({ roles: ['reader'] });
  await seconds(0);
  expect(tab!.keeper.session()).toBeDefined();
  await seconds(30);
  expect(rolesOf(tab!)).toEqual(['reader']);
});

it('of a signed-out user are not asked for', async () => {
  const [tab] = tabs([fresh(READER)]);
  tab!.keeper.end('user');
  for (const news of [{ roles: [] }, undefined, null, 7]) tab!.refresher.expectClaims(news);
  await seconds(1);
  expect(tab!.requests()).toBe(0);
});
