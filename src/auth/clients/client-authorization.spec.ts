import { parseSettings } from '../../config/settings/parse-settings.js';
import { Events } from '../../events.js';
import type { ProviderAdapter } from '../../provider/provider-adapter.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { ClientAuthorization } from './client-authorization.js';
import type { ClientSignIn } from './client-states.js';

const CHALLENGE = 'Az09_-'.padEnd(43, 'c');
const REQUEST = {
  response_type: 'code',
  client_id: 'app',
  redirect_uri: 'https://app.example/cb',
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
};

/** The beginning of a sign-in for a stock OAuth client (RFC 6749 §4.1.1; contract §4). */
describe('what a stock client asks for', () => {
  let saved: [string, ClientSignIn][];
  beforeEach(() => void (saved = []));

  async function begin(change: object, names = ['corp']): Promise<unknown> {
    const settings = parseSettings({
      SECRET_KEY: 'ab'.repeat(32),
      PUBLIC_URL: 'https://latchkey.example',
      PROVIDERS_MOCK_ENABLED: 'false',
      ...Object.fromEntries(
        names.flatMap((name) => [
          [`providers.${name}.client_id`, 'app'],
          [`providers.${name}.client_secret`, 's3cret'],
          [`providers.${name}.url`, 'https://id.example'],
        ]),
      ),
    });
    const adapter: ProviderAdapter = {
      authorizationUrl: (_provider, { state }) => new URL(`https://id.example/?state=${state}`),
      exchange: () => Promise.reject(new Error('not here')),
    };
    const states = { make: () => 's' };
    const clientStates = {
      save: (...one: [string, ClientSignIn]) => Promise.resolve(void saved.push(one)),
    };
    const authorization = new ClientAuthorization(
      await ProviderRegistry.load(settings, new Map([['contract', adapter]]), new Events()),
      states as never,
      clientStates as never,
      settings,
    );
    return authorization.begin({ ...REQUEST, ...change });
  }

  it('leads to the only provider, and is kept until it comes back', async () => {
    expect(await begin({ state: 'its own' })).toEqual({ address: 'https://id.example/?state=s' });
    expect(saved).toEqual([
      [
        's',
        {
          provider: 'corp',
          redirectUri: 'https://latchkey.example/providers/corp/callback',
          memory: null,
          client: {
            clientId: 'app',
            redirectUri: 'https://app.example/cb',
            state: 'its own',
            codeChallenge: CHALLENGE,
          },
        },
      ],
    ]);
  });

  it('may say that the answer is in the query', async () => {
    expect(await begin({ response_mode: 'query' })).toHaveProperty('address');
  });

  it('leads to a page where there are several', async () => {
    expect(await begin({}, ['corp', 'forum'])).toHaveProperty('page');
    expect(saved).toEqual([]);
  });

  // RFC 7636 §4.2: the base64url of a SHA-256 hash has 43 characters.
  it.each<[string, object]>([
    ['none', { code_challenge: undefined }],
    ['no method', { code_challenge_method: undefined }],
    ['another method', { code_challenge_method: 'plain' }],
    ['one that is too short', { code_challenge: CHALLENGE.slice(1) }],
    ['something before it', { code_challenge: `+${CHALLENGE}` }],
    ['something behind it', { code_challenge: `${CHALLENGE}=` }],
    ['another alphabet', { code_challenge: '+'.repeat(43) }],
  ])('needs a challenge with S256: with %s, the client is told', async (_what, change) => {
    await expect(begin(change)).rejects.toMatchObject({
      name: 'ErrorForClient',
      error: 'invalid_request',
      address: expect.stringContaining(
        'code_challenge%20with%20code_challenge_method%3DS256%20is%20required',
      ),
    });
    expect(saved).toEqual([]);
  });

  it.each<[string, object, string[], string, string]>([
    ['no provider is enabled', {}, [], 'server_error', 'no%20provider%20is%20enabled'],
    ['it is unknown', { provider: 'nobody' }, ['corp'], 'invalid_request', 'unknown%20or%20disabled'],
    [
      'it asks for something else',
      { response_type: 'token' },
      ['corp'],
      'unsupported_response_type',
      'must%20be%20code',
    ],
    [
      'it wants the answer elsewhere',
      { response_mode: 'form_post' },
      ['corp', 'forum'],
      'invalid_request',
      'only%20response_mode%20query%20is%20supported',
    ],
  ])('is told where %s', async (_what, change, names, error, description) => {
    await expect(begin(change, names)).rejects.toMatchObject({
      name: 'ErrorForClient',
      error,
      address: expect.stringContaining(description),
    });
  });
});
