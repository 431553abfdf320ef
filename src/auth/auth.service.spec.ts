import { createHash } from 'node:crypto';
import { parseSettings } from '../config/settings/parse-settings.js';
import { OAuthError } from '../errors/oauth-error.js';
import { Events } from '../events.js';
import { parseIdentity } from '../provider/identity/identity.js';
import { ProviderRegistry } from '../provider/provider.registry.js';
import type { AuthorizationRequest, ExchangeRequest, ProviderAdapter } from '../provider/provider-adapter.js';
import { DpopProofs } from '../token/dpop/dpop-proofs.js';
import { AuthService, SignInRefusals } from './auth.service.js';
import type { AuthorizeDto } from './authorize.dto.js';
import type { PendingSignIn } from './states/state.service.js';

const APP = 'https://app.example/cb';
const LISTED = 'https://list.example/cb';
const CALL = { header: undefined, path: '/oauth2/token' } as const;
const VERIFIER = 'v'.repeat(43);
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');
const NOW = 1_700_000_000_000;

/** The authorization code flow of the specification, with states in memory and a provider that accepts everybody. */
describe('a sign-in', () => {
  let states: Map<string, PendingSignIn>;
  let memory: Record<string, unknown> | undefined;
  let begun: AuthorizationRequest[];
  let exchanged: ExchangeRequest[];
  let issued: unknown[][];
  let refused: unknown[];
  let service: AuthService;

  beforeEach(async () => {
    [states, memory, begun, exchanged, issued, refused] = [new Map(), undefined, [], [], [], []];
    service = await serviceWith();
  });

  async function serviceWith(): Promise<AuthService> {
    const settings = parseSettings({
      SECRET_KEY: 'ab'.repeat(32),
      PUBLIC_URL: 'https://latchkey.example',
      'providers.corp.client_id': 'app',
      'providers.corp.client_secret': 's3cret',
      'providers.corp.url': 'https://id.example',
      REDIRECT_URIS: `${LISTED},${APP},https://latchkey.example/oauth2/token`,
    });
    const adapter: ProviderAdapter = {
      authorizationUrl: (_provider, request) => {
        begun.push(request);
        const url = new URL(`https://id.example/?state=${request.state}`);
        return memory ? { url, memory } : url;
      },
      exchange: (_provider, request) => {
        exchanged.push(request);
        return Promise.resolve({ provider_user_id: 'ada' });
      },
      issuer: () => 'https://id.example',
    };
    const events = new Events();
    events.on('sign_in.refused', (refusal) => void refused.push(refusal));
    const clock = { now: () => NOW };
    return new AuthService(
      await ProviderRegistry.load(settings, new Map([['contract', adapter]]), events),
      {
        make: () => 'a state',
        save: (state: string, signIn: PendingSignIn) => Promise.resolve(void states.set(state, signIn)),
        consume: (state: string) => {
          const signIn = states.get(state);
          states.delete(state);
          return signIn
            ? Promise.resolve(signIn)
            : Promise.reject(new OAuthError('invalid_grant', 'unknown'));
        },
      } as never,
      new DpopProofs(clock as never, settings),
      { issue: (...call: unknown[]) => Promise.resolve(issued.push(call)) } as never,
      clock as never,
      new SignInRefusals(events),
      settings,
    );
  }

  const authorize = (params: Partial<AuthorizeDto> = {}) =>
    service.authorize({ provider: 'corp', ...params });
  const exchange = (params: object = {}, userAgent?: string) =>
    service.exchange({ code: 'a code', state: 'a state', ...params }, CALL, userAgent);
  const invalidRequest = (description: string) => ({ error: 'invalid_request', description });

  it('leads to the provider, with a state that comes back and the issuer', async () => {
    expect(await authorize({ redirect_uri: APP })).toEqual({
      redirect_url: 'https://id.example/?state=a%20state',
      state: 'a state',
      issuer: 'https://latchkey.example',
    });
    expect(begun).toEqual([{ state: 'a state', redirectUri: APP }]);
  });

  it.each<[string, Partial<AuthorizeDto>, Partial<PendingSignIn>]>([
    ['a redirect URI', { redirect_uri: APP }, { redirectUri: APP }],
    ['no redirect URI', {}, { redirectUri: LISTED }],
    [
      'a challenge',
      { code_challenge: CHALLENGE, code_challenge_method: 'S256' },
      { codeChallenge: CHALLENGE },
    ],
    ['no challenge', {}, { codeChallenge: null, memory: null, provider: 'corp' }],
  ])('with %s is kept so', async (_what, params, kept) => {
    await authorize(params);
    expect(states.get('a state')).toMatchObject(kept);
  });

  it('keeps what the adapter wants kept, and brings it back to it', async () => {
    memory = { nonce: 'n' };
    await authorize();
    expect(states.get('a state')).toMatchObject({ memory });
    await exchange();
    expect(exchanged).toMatchObject([{ memory }]);
  });

  it.each<[string, Partial<AuthorizeDto>, object]>([
    ['nobody', { provider: 'nobody' }, invalidRequest('provider is unknown or disabled')],
    [
      'a redirect URI that is no web address',
      { redirect_uri: 'javascript:alert(1)' },
      invalidRequest('redirect_uri is not on the allow-list'),
    ],
    [
      'an endpoint of ours',
      { redirect_uri: 'https://latchkey.example/oauth2/token' },
      invalidRequest('redirect_uri is an endpoint of this service'),
    ],
    [
      'a challenge without its method',
      { code_challenge: CHALLENGE },
      invalidRequest('code_challenge needs code_challenge_method=S256, and the reverse'),
    ],
    [
      'a method without its challenge',
      { code_challenge_method: 'S256' },
      invalidRequest('code_challenge needs code_challenge_method=S256, and the reverse'),
    ],
  ])('does not begin with %s', async (_what, params, error) => {
    await expect(authorize(params)).rejects.toMatchObject(error);
    expect([begun, states.size]).toEqual([[], 0]);
  });

  it('ends with the tokens of whom the provider has verified, at the time at which it was asked', async () => {
    await authorize();
    const device = { device_id: 'd', device_name: 'Laptop' };
    await exchange(device, 'Browser');
    const { signal, ...request } = exchanged[0]!;
    expect(signal).toBeInstanceOf(AbortSignal);
    // What there is not is left out (contract §6: `iss?`, `memory?`).
    expect(request).toStrictEqual({ code: 'a code', state: 'a state', redirectUri: LISTED });
    expect(issued).toEqual([
      [
        {
          provider: 'corp',
          identity: { ...parseIdentity({ provider_user_id: 'ada' }), subject: null, session: null },
          asked: NOW,
        },
        expect.objectContaining(device),
        { proof: undefined, userAgentHeader: 'Browser' },
      ],
    ]);
    expect(refused).toEqual([]);
  });

  it('hands the issuer of the callback on (RFC 9207)', async () => {
    await authorize();
    await exchange({ iss: 'https://id.example' });
    expect(exchanged).toMatchObject([{ iss: 'https://id.example' }]);
    await authorize();
    await expect(exchange({ iss: 'https://evil.example' })).rejects.toMatchObject({ error: 'invalid_grant' });
    expect(exchanged).toHaveLength(1);
  });

  // Contract §6: compared if it is given, also if authorize named none and the default was stored.
  it.each<[string, string | undefined, string | undefined, boolean]>([
    ['the same redirect URI', APP, APP, true],
    ['none, where one was named', APP, undefined, true],
    ['the default, where none was named', undefined, LISTED, true],
    ['another one of the list, where none was named', undefined, APP, false],
    ['another redirect URI', APP, LISTED, false],
  ])('with %s', async (_what, named, given, isGood) => {
    await authorize(named === undefined ? {} : { redirect_uri: named });
    const answer = exchange({ redirect_uri: given });
    if (isGood) await answer;
    else
      await expect(answer).rejects.toMatchObject({
        error: 'invalid_grant',
        description: 'redirect_uri differs from the one of the authorization request',
      });
    expect(exchanged.map(({ redirectUri }) => redirectUri)).toEqual(isGood ? [named ?? LISTED] : []);
  });

  // RFC 7636 §4.6, and RFC 9700 §4.8.2: a verifier without a challenge is refused as well.
  it.each<[string, string | undefined, string | undefined, boolean]>([
    ['the verifier of its challenge', CHALLENGE, VERIFIER, true],
    ['neither', undefined, undefined, true],
    ['no verifier', CHALLENGE, undefined, false],
    ['another verifier', CHALLENGE, 'w'.repeat(43), false],
    ['a verifier without a challenge', undefined, VERIFIER, false],
  ])('with %s', async (_what, challenge, verifier, isGood) => {
    await authorize(challenge ? { code_challenge: challenge, code_challenge_method: 'S256' } : {});
    const answer = exchange(verifier ? { code_verifier: verifier } : {});
    if (isGood) await answer;
    else
      await expect(answer).rejects.toMatchObject({
        error: 'invalid_grant',
        description: 'code_verifier is missing or wrong',
      });
    expect(exchanged).toHaveLength(isGood ? 1 : 0);
    expect(refused).toEqual(isGood ? [] : [{ error: 'invalid_grant', provider: 'corp' }]);
  });

  it('spends no state where the proof is bad (contract §5)', async () => {
    await authorize();
    const call = { ...CALL, header: 'no proof' };
    await expect(service.exchange({ code: 'a code', state: 'a state' }, call)).rejects.toMatchObject({
      error: 'invalid_dpop_proof',
    });
    expect(states.size).toBe(1);
    expect(refused).toEqual([{ error: 'invalid_dpop_proof' }]);
  });
});
