import request from 'supertest';
import type { Tab } from './browser.js';
import { waitFor } from './eventually.js';
import { codes, signedIn, useWorld } from './world.js';

describe('the client keeps one session for all tabs', () => {
  const { world, profile } = useWorld();

  const open = (): Promise<Tab> => profile.open(world.address({ provider: 'stub' }));
  const refreshes = async (...tabs: Tab[]): Promise<number> => {
    const count = `of('request').filter(({ path }) => path.endsWith('/refresh')).length`;
    const counts = await Promise.all(tabs.map((tab) => tab.evaluate<number>(count)));
    return counts.reduce((sum, each) => sum + each);
  };

  it('which appears in those that are open, and in new ones', async () => {
    const first = await open();
    const second = await world.signIn(profile);
    await signedIn(first);
    const third = await open();
    await signedIn(third);
    const token = await second.evaluate('latchkey.accessToken()');
    for (const tab of [first, third]) expect(await tab.evaluate('latchkey.accessToken()')).toBe(token);
  });

  it('and refreshes it once', async () => {
    const tabs = [await world.signIn(profile), await open(), await open()] as const;
    await world.age(tabs[0]);
    for (const tab of tabs)
      await waitFor(tab, `latchkey.accessToken().then((token) => token.startsWith('eyJ'))`);
    const [one, ...others] = await Promise.all(tabs.map((tab) => tab.evaluate('latchkey.accessToken()')));
    expect(others).toEqual([one, one]);
    expect(await refreshes(...tabs)).toBe(1);
  });

  it('and signs out in all of them when one does, without a dialog', async () => {
    const first = await world.signIn(profile);
    const second = await open();
    await signedIn(second);
    const { refresh_token } = await world.stored(first);
    await Promise.all([first, second].map((tab) => tab.evaluate('latchkey.connect().then(() => 1)')));
    await first.evaluate('latchkey.signOut()');
    await waitFor(second, `of('signedOut').length`);
    for (const tab of [first, second]) {
      expect(await codes(tab)).toEqual(['user']);
      expect(await tab.evaluate('latchkey.session')).toBeUndefined();
      expect(await tab.evaluate(`document.querySelectorAll('body > div').length`)).toBe(0); // the dialog's host
    }
    await request(world.app.service).post('/oauth2/refresh').send({ refresh_token }).expect(401);
  });

  it('and continues after an outage of the network, without a sign-out', async () => {
    const tab = await world.signIn(profile);
    await world.line.refuse();
    await world.age(tab);
    expect(await tab.evaluate('latchkey.accessToken().catch(({ code }) => code)')).toBe('network');
    await tab.reload();
    await signedIn(tab);
    expect(await tab.evaluate('latchkey.me().catch(({ code }) => code)')).toBe('network');
    await world.line.restore();
    await tab.evaluate(`dispatchEvent(new Event('online'))`);
    await waitFor(tab, `latchkey.me().then(({ username }) => username)`);
    expect(await codes(tab)).toEqual([]);
  });
});
