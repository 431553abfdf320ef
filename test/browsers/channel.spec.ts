import request from 'supertest';
import type { Tab } from './browser.js';
import { ENGINE } from './engines.js';
import { waitFor } from './eventually.js';
import { codes, SERVICE_KEY, useWorld } from './world.js';

describe('the channel', () => {
  let tab: Tab;

  const { world, profile } = useWorld();
  const connect = (where: Tab): Promise<unknown> =>
    where.evaluate(`latchkey.connect().then((channel) => {
      window.channel = channel; window.notes = []; window.infos = [];
      channel.on('note', (data) => notes.push(data));
      channel.on('ready', (info) => infos.push(info.recovered));
    })`);
  beforeEach(async () => {
    tab = await world.signIn(profile);
    await connect(tab);
  });

  const push = async (data: number): Promise<unknown> =>
    request(world.app.service)
      .post('/push')
      .auth(SERVICE_KEY, { type: 'bearer' })
      .send({ user_id: await tab.evaluate('latchkey.session.userId'), event: 'note', data })
      .expect(202);
  const back = async (): Promise<void> => {
    await tab.evaluate(`dispatchEvent(new Event('online'))`); // the client need not wait for its next attempt
    await waitFor(tab, 'channel.connected');
  };

  it('brings what is pushed, once, and ends with the session', async () => {
    await push(1);
    await push(2);
    await waitFor(tab, 'notes.length === 2');
    expect(await tab.evaluate('notes')).toEqual([1, 2]);
    await tab.evaluate('latchkey.signOut()');
    await waitFor(tab, '!channel.connected');
    expect(await tab.evaluate('latchkey.connect().catch(({ code }) => code)')).toBe('signed_out');
  });

  it('comes back after a restart of the service, then after a cut with an expired token: nothing lost or doubled', async () => {
    await world.restartService();
    await back();
    await push(1);
    await waitFor(tab, 'notes.length === 1');
    await world.line.refuse();
    await waitFor(tab, '!channel.connected');
    await world.age(tab);
    await world.line.restore();
    await push(2);
    await back();
    await push(3);
    await waitFor(tab, 'notes.length === 3');
    expect(await tab.evaluate('notes')).toEqual([1, 2, 3]);
    expect(await tab.evaluate('infos')).toEqual([true, true]);
    expect(await codes(tab)).toEqual([]);
  });

  // After each event that a device sends when it wakes up: packages/client/src/channel/channel.spec.ts.
  it('finds within 5 s of its return into view that its connection is dead, whatever the page does with the events', async () => {
    const other = await world.signIn(profile);
    await connect(other);
    const hidden = [tab, other];
    // Not in Firefox: its driver hangs on a page that stops the event.
    if (ENGINE !== 'firefox') {
      for (const one of hidden) {
        await one.evaluate(
          `void document.addEventListener('visibilitychange', (event) => event.stopPropagation())`,
        );
      }
      // The focus of an element is no return into view: it causes no listener of the client to run.
      const reads = await tab.evaluate(`(() => {
        let read = 0;
        const own = Object.getOwnPropertyDescriptor(Document.prototype, 'hidden');
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => (read++, own.get.call(document)) });
        document.querySelector('#in').dispatchEvent(new Event('focus'));
        delete document.hidden;
        return read;
      })()`);
      expect(reads).toBe(0);
      await profile.open('about:blank'); // Chromium hides the others
    }
    world.line.strand();
    await push(1);
    const begun = Date.now();
    for (const one of hidden) {
      await one.focus();
      // For browsers without windows, in which every tab is in view.
      await one.evaluate(`void document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`);
    }
    await Promise.all(hidden.map((one) => waitFor(one, 'notes.length')));
    expect(Date.now() - begun).toBeLessThan(7000);
    await push(2);
    for (const one of hidden) {
      await waitFor(one, 'notes.length === 2');
      expect(await one.evaluate('notes')).toEqual([1, 2]);
      expect(await one.evaluate('infos')).toEqual([true]);
    }
  });

  it('says within a second that this device was signed out on another one', async () => {
    const quiet = await profile.open(world.address({ provider: 'stub' })); // without a channel: the other tab notifies it
    const other = await world.signIn(await world.newProfile());
    await other.evaluate(`latchkey.signOut('others')`);
    const begun = Date.now();
    await waitFor(tab, `of('signedOut').length`);
    expect(Date.now() - begun).toBeLessThan(1000);
    await waitFor(quiet, `of('signedOut').length`);
    for (const one of [tab, quiet]) expect(await codes(one)).toEqual(['signed_out']);
  });

  it('says the same in a tab whose storage shows the end a moment after the message about it', async () => {
    const late = await profile.open(world.address({ provider: 'stub' }));
    await late.evaluate(`(() => {
      const before = localStorage.getItem('${world.key}');
      const { getItem } = Storage.prototype;
      let isShown = false;
      Storage.prototype.getItem = function (name) {
        return name === '${world.key}' && !isShown ? before : getItem.call(this, name);
      };
      window.other = new BroadcastChannel('${world.key}');
      other.onmessage = () =>
        setTimeout(() => {
          isShown = true;
          dispatchEvent(new StorageEvent('storage'));
        }, 200);
    })()`);
    await request(world.app.service)
      .post('/sign-out')
      .auth(await tab.evaluate<string>('latchkey.accessToken()'), { type: 'bearer' })
      .send({ scope: 'current' })
      .expect(204);
    await waitFor(late, `of('signedOut').length`);
    for (const one of [tab, late]) expect(await codes(one)).toEqual(['signed_out']);
    expect(await late.evaluate(`of('request').map(({ path }) => path)`)).not.toContain('/oauth2/refresh');
  });
});
