import type { ProviderSettings } from '../../config/settings/settings.js';
import type { AuthorizationRequest, AuthorizationUrl, ExchangeRequest } from '../provider-adapter.js';
import type { Play } from './play.js';
import { CODE, REDIRECT_URI, SECRET, STATE } from './secrets.js';
import { SignIn } from './sign-in.js';
import { SimulatedProvider } from './simulated-provider.js';

const PAGE = 'https://id.example/login';

describe('a sign-in of the contract test', () => {
  let provider: SimulatedProvider;
  beforeAll(async () => {
    provider = await SimulatedProvider.start(() => ({}));
  });
  afterAll(() => provider?.close());

  const seen: { begun: [ProviderSettings, AuthorizationRequest][]; exchanged: ExchangeRequest[] } = {
    begun: [],
    exchanged: [],
  };
  beforeEach(() => {
    seen.begun = [];
    seen.exchanged = [];
  });

  /** Of an adapter that writes down what it is given. It asks the provider at both moments, as with a discovery. */
  function signIn(play: Partial<Play> = {}, answer: AuthorizationUrl = new URL(PAGE)): SignIn {
    const ask = (path: string): Promise<unknown> => fetch(`${provider.url}${path}`);
    return new SignIn(
      {
        authorizationUrl: async (...given) => {
          seen.begun.push(given);
          await ask('/discovery');
          return answer;
        },
        exchange: async (_settings, request) => {
          seen.exchanged.push(request);
          await ask('/exchange');
          return { provider_user_id: 'u' };
        },
      },
      provider,
      { accepted: () => ({}), refused: () => ({}), userId: 'u', ...play },
    );
  }

  it('gives the adapter settings as the service does: its own are those of the play', async () => {
    const url = (at: string): { login: string } => ({ login: `${at}/login` });
    await signIn({ options: url }).begin();
    await signIn().exchange();
    const all = {
      name: 'test',
      adapter: 'test',
      url: provider.url,
      clientId: 'app',
      clientSecret: SECRET,
      variables: { adapter: 'providers.test.adapter', issuer: 'providers.test.issuer' },
    };
    const request = { state: STATE, redirectUri: REDIRECT_URI };
    expect(seen.begun).toEqual([
      [{ ...all, options: { login: `${provider.url}/login` } }, request],
      [{ ...all, options: {} }, request],
    ]);
  });

  it.each<[string, AuthorizationUrl, object]>([
    ['an address', new URL(PAGE), { url: new URL(PAGE) }],
    [
      'an address and memory',
      { url: new URL(PAGE), memory: { a: 1 } },
      { url: new URL(PAGE), memory: { a: 1 } },
    ],
  ])('begins with %s', async (_name, answer, begun) => {
    expect(await signIn({}, answer).begin()).toEqual(begun);
  });

  describe('comes back from a page', () => {
    const page = (values: Record<string, string>): URL =>
      new URL(`${PAGE}?${new URLSearchParams(values).toString()}`);

    it('that was sent state and redirect URI under any name, with what spec §4.5.1 says', () => {
      const url = page({ x: STATE, y: REDIRECT_URI, z: 'z' });
      expect(signIn().callback(url)).toBe(`${REDIRECT_URI}&code=${CODE}&state=${STATE}`);
    });

    it.each([
      ['state', { y: REDIRECT_URI, z: `${STATE}0` }],
      ['redirect URI', { x: STATE, z: `${REDIRECT_URI}#` }],
    ])('only if it was sent the %s, unchanged', (name, values) => {
      expect(() => signIn().callback(page(values))).toThrow(`the ${name} is missing`);
    });

    it('as the play has it, where it has it', () => {
      const back = (at: URL, code: string): string => `${at.pathname} ${code}`;
      expect(signIn({ callback: back }).callback(new URL(PAGE))).toBe(`/login ${CODE}`);
    });
  });

  describe('exchanges a code', () => {
    it('with what the service would give: nothing that there is not', async () => {
      const signal = expect.any(AbortSignal) as AbortSignal;
      expect(await signIn().exchange()).toEqual({ provider_user_id: 'u' });
      expect(seen.exchanged).toStrictEqual([{ code: CODE, state: STATE, redirectUri: REDIRECT_URI, signal }]);
    });

    it('with a code, an issuer and a signal of the check', async () => {
      const { signal } = new AbortController();
      await signIn().exchange({ code: 'another', iss: '', signal });
      expect(seen.exchanged).toStrictEqual([
        { code: 'another', state: STATE, redirectUri: REDIRECT_URI, iss: '', signal },
      ]);
      expect(seen.exchanged[0]?.signal).toBe(signal);
    });

    it('with memory that was written as JSON and read again, as another instance would', async () => {
      const memory = { at: new Date(0), none: undefined, verifier: 'v' };
      await signIn({}, { url: new URL(PAGE), memory }).exchange();
      expect(seen.exchanged[0]?.memory).toStrictEqual({ at: '1970-01-01T00:00:00.000Z', verifier: 'v' });
    });
  });

  it('tells what was sent since it began: a discovery before that is none of it', async () => {
    const it = signIn();
    const paths = (): string[] => it.sent().map(({ path }) => path);
    await it.exchange();
    expect(paths()).toEqual(['/exchange']);
    await it.begin();
    expect(paths()).toEqual([]);
  });
});
