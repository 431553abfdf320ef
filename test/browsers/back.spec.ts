import request from 'supertest';
import { type Tab, find } from './browser.js';
import { ENGINE } from './engines.js';
import { waitFor } from './eventually.js';
import { codes, DIALOG, ENTER, logIn, said, SERVICE_KEY, signedIn, useWorld } from './world.js';

describe('a page that comes back from the cache of the browser', () => {
  const { world, profile } = useWorld();

  /** Goes to a page of another site and back. @param meanwhile runs in between @returns whether the page came from the cache */
  async function roundTrip(tab: Tab, meanwhile: () => Promise<unknown>): Promise<boolean> {
    await tab.evaluate(`void (window.isOld = true)`);
    const elsewhere = `${world.app.foreignUrl}/stranger`;
    await tab.evaluate(`void setTimeout(() => location.assign('${elsewhere}'))`);
    await waitFor(tab, `location.href === '${elsewhere}' && document.readyState === 'complete'`);
    await meanwhile();
    await tab.back();
    await waitFor(tab, 'window.latchkey');
    return tab.evaluate('!!window.isOld');
  }

  it('has no dialog after the user came back from the provider, and signs in at the next click', async () => {
    const tab = await profile.open(world.address({ mode: 'redirect' }));
    await tab.evaluate(`void (window.isOld = true)`);
    await tab.click(ENTER);
    await waitFor(tab, `!!document.querySelector('input[type=password]')`);
    await tab.back();
    await said(tab, 'cancelled');
    expect(await tab.evaluate('!!window.isOld')).toBe(true);
    expect(await tab.evaluate(`${find(DIALOG)} === null`)).toBe(true);
    await tab.click(ENTER);
    await logIn(tab);
    await signedIn(tab);
  });

  // Chromium and Firefox drop a page from the cache when a message of another tab comes for it: it is loaded anew there.
  it('is signed out if another tab has signed out', async () => {
    const tab = await world.signIn(profile);
    const other = await profile.open(world.address({ provider: 'stub' }));
    await signedIn(other);
    const isSame = await roundTrip(tab, () => other.evaluate('latchkey.signOut()'));
    expect(isSame).toBe(ENGINE === 'webkit');
    await waitFor(tab, '!latchkey.session');
    expect(await codes(tab)).toEqual(isSame ? ['user'] : []);
  });

  it('refreshes an expired token', async () => {
    const tab = await world.signIn(profile);
    const other = await profile.open(`${world.app.url}/callback`); // no client there that would be faster
    expect(await roundTrip(tab, () => world.age(other))).toBe(true);
    await waitFor(tab, `JSON.parse(localStorage.getItem('${world.key}')).access_token.startsWith('eyJ')`);
    expect(await codes(tab)).toEqual([]);
  });

  // Firefox caches no page that has an open WebSocket: there it is loaded anew, and connects anew.
  it('has its channel again, with the events in between', async () => {
    const tab = await world.signIn(profile);
    const userId = await tab.evaluate('latchkey.session.userId');
    await tab.evaluate(`latchkey.connect().then((channel) => {
      window.channel = channel; window.notes = [];
      channel.on('note', (data) => notes.push(data));
    })`);
    const push = async (): Promise<unknown> =>
      request(world.app.service)
        .post('/push')
        .auth(SERVICE_KEY, { type: 'bearer' })
        .send({ user_id: userId, event: 'note', data: 1 })
        .expect(202);
    const isSame = await roundTrip(tab, push);
    expect(isSame).toBe(ENGINE !== 'firefox');
    await waitFor(
      tab,
      isSame ? 'channel.connected && notes.length === 1' : 'latchkey.connect().then(() => true)',
    );
  });
});
