import { waitFor } from './eventually.js';
import { codes, signedIn, useWorld } from './world.js';

describe('the client binds a session to its browser', () => {
  const { world, profile } = useWorld();

  const FRESH = `latchkey.accessToken().then((token) => token.startsWith('eyJ'))`;
  /** Asks the store of keys. */
  const keys = (request: string, then: string): string => `new Promise((resolve, reject) => {
    const opening = indexedDB.open('${world.key}');
    opening.onerror = reject;
    opening.onsuccess = () => {
      const asked = opening.result.transaction('keys').objectStore('keys').${request};
      opening.result.close();
      asked.onsuccess = () => resolve((${then})(asked.result));
    };
  })`;

  it('with a key that no script can export, and that is there after a reload', async () => {
    const tab = await world.signIn(profile);
    expect(await tab.evaluate('latchkey.session.bound')).toBe(true);
    const { binding } = await world.stored(tab);
    await tab.reload();
    await signedIn(tab);
    expect(
      await tab.evaluate(
        keys(
          `get('${binding!.key}')`,
          `({ privateKey }) => Promise.all(['pkcs8', 'jwk'].map((format) =>
            crypto.subtle.exportKey(format, privateKey).then(() => format, ({ name }) => name)))
            .then((tried) => [privateKey.extractable, privateKey.algorithm.namedCurve, ...tried])`,
        ),
      ),
    ).toEqual([false, 'P-256', 'InvalidAccessError', 'InvalidAccessError']);
    await world.age(tab);
    await waitFor(tab, FRESH);
    expect(await codes(tab)).toEqual([]);
  });

  it('also through a redirect, with tokens in sessionStorage', async () => {
    const tab = await profile.open(
      world.address({ provider: 'stub', mode: 'redirect', storage: 'sessionStorage' }),
    );
    await tab.evaluate('void latchkey.signIn()');
    await signedIn(tab);
    expect(await tab.evaluate('latchkey.session.bound')).toBe(true);
    await tab.reload();
    await signedIn(tab);
    expect(await tab.evaluate('latchkey.session.bound')).toBe(true);
  });

  it('and removes the key at the sign-out', async () => {
    const tab = await world.signIn(profile);
    expect(await tab.evaluate(keys('count()', '(count) => count'))).toBe(1);
    await tab.evaluate('latchkey.signOut()');
    await waitFor(tab, keys('count()', '(count) => count === 0'));
  });

  it('so that a copy of its storage refreshes nothing in another one, and ends the session: it was stolen', async () => {
    const owner = await world.signIn(profile);
    const record = await owner.evaluate<string>(`localStorage.getItem('${world.key}')`);
    const elsewhere = await world.newProfile();
    const thief = await elsewhere.open(world.address({ provider: 'stub' }));
    await thief.evaluate(`void localStorage.setItem('${world.key}', ${JSON.stringify(record)})`);
    await world.age(thief);
    await waitFor(thief, `of('signedOut').length`);
    expect(await codes(thief)).toEqual(['key_lost']);
    expect(await thief.evaluate(`of('request').filter(({ path }) => path.endsWith('/refresh'))`)).toEqual([]);
    await waitFor(thief, `of('request').some(({ path }) => path.endsWith('/revoke'))`);
    await world.age(owner);
    await waitFor(owner, `of('signedOut').length`);
    expect(await codes(owner)).toEqual(['refused']);
  });
});
