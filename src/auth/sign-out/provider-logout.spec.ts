import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ProviderLogout } from './provider-logout.js';

const PAGE = new URL('https://id.example/logout');
const BACK = 'https://app.example/';

/** Whatever a provider does, the sign-out here is done (contract §4). */
describe('where somebody ends their session with the provider', () => {
  let warned: unknown[];
  beforeEach(() => {
    warned = [];
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: unknown) => void warned.push(line));
  });
  afterEach(() => void jest.restoreAllMocks());

  const urlAt = (provider: string, logoutUrl: (request: object) => Promise<URL | undefined>) =>
    new ProviderLogout(
      { find: (name: string) => (name === 'corp' ? { logoutUrl } : undefined) } as never,
      {} as never,
    ).urlFor({ provider, providerUserId: 'ada' }, BACK);

  it('is the page that it names for this user', async () => {
    const asked: object[] = [];
    const logoutUrl = (request: object): Promise<URL> => {
      asked.push(request);
      return Promise.resolve(PAGE);
    };
    expect(await urlAt('corp', logoutUrl)).toBe(PAGE);
    expect(asked).toEqual([{ redirectUri: BACK, hint: 'ada' }]);
  });

  it('is nowhere, without a warning, where it has no page or is not enabled any more', async () => {
    expect(await urlAt('corp', () => Promise.resolve(undefined))).toBeUndefined();
    expect(await urlAt('gone', () => Promise.resolve(PAGE))).toBeUndefined();
    expect(warned).toEqual([]);
  });

  it('is nowhere where it is away, of which an operator is told', async () => {
    const away = new Error('away');
    expect(await urlAt('corp', () => Promise.reject(away))).toBeUndefined();
    expect(warned).toEqual([{ err: away, msg: expect.stringContaining('corp') }]);
  });
});
