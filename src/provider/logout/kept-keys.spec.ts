import { createLocalJWKSet } from 'jose';
import { KeptKeys, type Verification } from './kept-keys.js';

describe('the keys of a provider', () => {
  let now: number;
  let fetches: number;
  let away: boolean;
  let keys: KeptKeys;
  beforeEach(() => {
    [now, fetches, away] = [0, 0, false];
    keys = new KeptKeys(
      async (): Promise<Verification> => {
        fetches++;
        await Promise.resolve();
        if (away) throw new Error('away');
        return { issuer: String(fetches), algorithms: [], keys: createLocalJWKSet({ keys: [] }) };
      },
      () => now,
    );
  });
  const current = async (): Promise<string> => (await keys.current()).issuer;
  /** Which fetch is the answer for a token that has just come, and `?` if it may not be the last word. */
  const newest = async (since = now): Promise<string> => {
    const { verification, isCertain } = await keys.newest(since);
    return verification.issuer + (isCertain ? '' : '?');
  };

  it('are fetched once, and kept for five minutes', async () => {
    expect(await Promise.all([current(), newest(), current()])).toEqual(['1', '1', '1']);
    now = 299_999;
    expect(await current()).toBe('1');
    now = 300_000;
    expect(await Promise.all([current(), current()])).toEqual(['2', '2']);
  });

  it('are fetched again for an unknown one, at most once in 30 s', async () => {
    await current();
    expect(await newest()).toBe('1'); // fetched for this very token
    now = 1000;
    expect(keys.mayFetchIn).toBe(0);
    expect(await Promise.all([newest(), newest()])).toEqual(['2', '2']);
    expect(await current()).toBe('2');
    now = 1001;
    expect(await newest()).toBe('2?');
    now = 30_999;
    expect([await newest(), keys.mayFetchIn]).toEqual(['2?', 1]);
    now = 31_000;
    expect(await newest()).toBe('3');
  });

  it('that are being fetched for another token are waited for, and are not the last word', async () => {
    const first = current();
    now = 1;
    expect([await newest(), await first, fetches]).toEqual(['1?', '1', 1]);
    expect([await newest(), fetches]).toEqual(['2', 2]);
  });

  it('are used on while none can be had', async () => {
    await current();
    [now, away] = [1000, true];
    for (let i = 0; i < 3; i++) await expect(newest()).rejects.toThrow('away');
    expect(await current()).toBe('1');
    expect(fetches).toBe(2);
  });

  it('that could not be had are not asked for again within a second', async () => {
    away = true;
    for (let i = 0; i < 3; i++) await expect(Promise.all([current(), newest()])).rejects.toThrow('away');
    now = 999;
    await expect(current()).rejects.toThrow('away');
    expect(fetches).toBe(1);
    [now, away] = [1000, false];
    expect(await current()).toBe('2');
  });
});
