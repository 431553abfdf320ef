import { randomBytes } from 'node:crypto';
import { createSessions } from '../../packages/server/src/session.js';
import { APP, CookieBrowser } from '../../packages/server/test/support/cookie-browser.js';
import { startTestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { useEach } from '../support/use.js';

/** More than RATE_LIMIT_TOKEN (300) and RATE_LIMIT_BAD_TOKEN (120). */
const CALLS = 310;
const AT_ONCE = 20;
const madeUpCode = (): string => `lkc_${randomBytes(32).toString('base64url')}`;

/**
 * All calls of an application with `createSessions` come from the address of its server, so one visitor could use up the service's
 * limits for all of its users: 310 callbacks with one attempt's cookie, and all sign-ins failed for a minute.
 */
describe('limits of an address that all visitors share', () => {
  let attacker: CookieBrowser;
  let begun: number;

  const provider = useEach(() => StubProvider.start());
  const service = useEach(() =>
    startTestService({ ...provider.env(), RATE_LIMIT: 'on', TRUST_PROXY: 'loopback' }),
  );
  const cookieSecret = 'a cookie secret of the tests, which is long enough';
  const sessions = useEach(() => {
    const options = { issuer: service.url, clientUrl: APP, cookieSecret, onWarning: () => undefined };
    return createSessions({ ...options, addressHeader: 'x-forwarded-for' });
  });
  beforeEach(() => {
    attacker = new CookieBrowser(sessions.handle);
    begun = service.log.length; // lines of the start name the paths
    provider.signInAtOnce();
  });

  const calls = (path: string): number =>
    service.log.slice(begun).filter((line) => line.includes(path)).length;

  async function repeat(attack: (turn: number) => Promise<unknown>): Promise<void> {
    for (let turn = 0; turn < CALLS; turn += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => attack(turn + at)));
  }

  /** Another visitor signs in. @returns where the callback leads to */
  async function signIn(by = new CookieBrowser(sessions.handle)): Promise<string | null> {
    return (await by.signIn('/orders')).headers.get('location');
  }

  it('callbacks of one attempt cause one call, those with another form of code none', async () => {
    const callback = new URL(await attacker.untilCallback());
    const copy = attacker.request(callback.href);
    const send = (code: string): Promise<Response | undefined> => {
      callback.searchParams.set('code', code);
      return sessions.handle(new Request(callback, { headers: copy.headers }));
    };
    for (const code of ['x', 'lkr_x', 'lkc_', `${madeUpCode()}x`, ` ${madeUpCode()}`, `${madeUpCode()}\n`])
      expect((await send(code))!.headers.get('location')).toContain('error=invalid_grant');
    expect(calls('/oauth2/token')).toBe(0);
    await repeat(() => send(madeUpCode()));
    expect(calls('/oauth2/token')).toBe(1);
    expect(await signIn()).toBe(`${APP}/orders`);
  });

  it('sign-outs with a copy of one cookie cause one call', async () => {
    await attacker.signIn();
    const copy = attacker.request('/auth/sign-out', { 'sec-fetch-site': 'same-origin' }, 'POST');
    await repeat(async () => expect((await sessions.handle(copy))!.status).toBe(303));
    expect(calls('/oauth2/revoke')).toBe(1);
    const user = new CookieBrowser(sessions.handle);
    await signIn(user);
    expect((await user.post('/auth/sign-out')).status).toBe(303);
  });

  // The proxy adds the visitor's address to what the visitor sends.
  it.each([
    ['nothing', ''],
    ['a word', 'no address, '],
    ['parameters', '203.0.113.1;x, '],
    ['200 addresses', '1.2.3.4, '.repeat(200)],
    ['a space of Latin-1', '\u00a0, '],
  ])('many attempts use up the limit of their own address, with %s before it', async (_name, sent) => {
    const visit = (path: string, address: string) =>
      attacker.visit(path, { 'x-forwarded-for': `${sent}${address}` });
    const attack = async (): Promise<string | null> => {
      const answer = await visit('/auth/sign-in', '203.0.113.66');
      const state = new URL(answer.headers.get('location')!).searchParams.get('state')!;
      const query = new URLSearchParams({ state, code: madeUpCode(), iss: service.url });
      return (await visit(`/auth/callback?${query.toString()}`, '203.0.113.66')).headers.get('location');
    };
    let turn = 0; // of two limits at most: a minute may end in between
    while (!(await attack())?.includes('error=temporarily_unavailable'))
      expect(turn++).toBeLessThan(2 * CALLS);
    const user = new CookieBrowser(sessions.handle);
    const answer = await user.visit(await user.untilCallback('/orders'), {
      'x-forwarded-for': '203.0.113.7',
    });
    expect(answer.headers.get('location')).toBe(`${APP}/orders`);
    expect(await signIn()).toBe(`${APP}/orders`); // without the header: the address of the server itself
  });
});
