import { find, type Tab } from './browser.js';
import { waitFor } from './eventually.js';
import { codes, World } from './world.js';
import { use } from '../support/use.js';

/** In every engine; details in Chromium: chromium/client-account.spec.ts. */
describe('showDevices() and showUser()', () => {
  const world = use(() => World.start());
  afterEach(() => world.leave());

  const show = (tab: Tab, name: 'showDevices' | 'showUser'): Promise<unknown> =>
    tab.evaluate(`latchkey.${name}(document.body.appendChild(document.createElement('main'))).then(() => 1)`);
  const has = (tab: Tab, css: string, name?: RegExp): Promise<unknown> =>
    waitFor(tab, `${find({ css, ...(name && { name }) })} !== null`);

  it('renames a device, shows it at once in another browser, and signs it out there', async () => {
    const tab = await world.signIn(await world.newProfile(), { locale: 'en' });
    const other = await world.signIn(await world.newProfile(), { locale: 'en' });
    for (const one of [tab, other]) await show(one, 'showDevices');
    await tab.click({ css: 'button', name: /^Rename .*This device/ });
    await has(tab, 'input');
    // WebKit's driver cannot click a field in a shadow root. The field has the focus.
    await tab.evaluate(`void (${find({ css: 'input' })}.value = 'Kitchen')`);
    await tab.press('Enter');
    await has(other, 'li', /Kitchen/);
    await other.click({ css: 'button', name: /^Sign out Kitchen/ });
    await has(other, '[role=group]', /^Sign out Kitchen\?/);
    await other.click({ css: '[role=group] .danger' });
    await waitFor(tab, `of('signedOut').length`);
    expect(await codes(tab)).toEqual(['signed_out']);
    await waitFor(other, `${find({ css: 'li', name: /Kitchen/ })} === null`);
  });

  it('has a menu with the devices and the sign-out, and returns the focus to its button', async () => {
    const tab = await world.signIn(await world.newProfile(), { locale: 'ar' });
    await show(tab, 'showUser');
    const opener = { css: '.opener' };
    const focused = `document.activeElement.shadowRoot?.activeElement?.className === 'opener'`;
    await tab.click(opener);
    await has(tab, '[popover]', /أجهزتك/);
    await tab.press('Escape');
    await waitFor(tab, focused);
    await tab.click(opener);
    await tab.click({ css: 'button', name: /أجهزتك/ });
    await has(tab, 'li', /هذا الجهاز/);
    expect(await tab.evaluate(`getComputedStyle(${find({ css: 'dialog' })}).direction`)).toBe('rtl');
    await tab.press('Escape');
    await waitFor(tab, focused);
    await tab.click(opener);
    await tab.click({ css: '[popover] button', name: /^\s*تسجيل الخروج\s*$/ });
    await waitFor(tab, `of('signedOut').length`);
    expect(await codes(tab)).toEqual(['user']);
    await waitFor(tab, `${find(opener)} === null`);
  });
});
