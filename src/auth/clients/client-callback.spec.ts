import { parseSettings } from '../../config/settings/parse-settings.js';
import { Events } from '../../events.js';
import type { AdapterMemory, ExchangeRequest, ProviderAdapter } from '../../provider/provider-adapter.js';
import { ProviderRegistry } from '../../provider/provider.registry.js';
import { ProviderRefusal } from '../../provider/transport/provider-answer.js';
import { ClientCallback } from './client-callback.js';
import { SignInRefusals } from '../auth.service.js';

const CLIENT = {
  clientId: 'app',
  redirectUri: 'https://app.example/cb',
  state: 'its own',
  codeChallenge: 'c',
};
const CALLBACK = 'https://latchkey.example/providers/corp/callback';

/** The way back from the provider in a sign-in for a stock OAuth client (contract §4). */
describe('a provider’s answer for a stock client', () => {
  let exchanged: ExchangeRequest[];
  let memory: AdapterMemory | null;
  beforeEach(() => void ([exchanged, memory] = [[], null]));

  async function receive(params: object): Promise<string> {
    const settings = parseSettings({
      SECRET_KEY: 'ab'.repeat(32),
      PUBLIC_URL: 'https://latchkey.example',
      'providers.corp.client_id': 'app',
      'providers.corp.client_secret': 's3cret',
      'providers.corp.url': 'https://id.example',
    });
    const adapter: ProviderAdapter = {
      authorizationUrl: () => new URL('https://id.example'),
      exchange: (_provider, request) => {
        exchanged.push(request);
        return Promise.resolve({ provider_user_id: 'ada' });
      },
      issuer: () => 'https://id.example',
    };
    const events = new Events();
    const consume = () =>
      Promise.resolve({ provider: 'corp', redirectUri: CALLBACK, memory, client: CLIENT });
    const callback = new ClientCallback(
      await ProviderRegistry.load(settings, new Map([['contract', adapter]]), events),
      { consume } as never,
      { issue: () => Promise.resolve('lkc_ours') } as never,
      { now: () => 0 } as never,
      new SignInRefusals(events),
      settings,
    );
    return callback.receive('corp', { state: 's', ...params });
  }

  it('brings the client a code of ours; what it did not say is left out for the adapter', async () => {
    const address = new URL(await receive({ code: 'a code' }));
    expect(Object.fromEntries(address.searchParams)).toEqual({
      code: 'lkc_ours',
      state: 'its own',
      iss: 'https://latchkey.example',
    });
    const { signal: _signal, ...request } = exchanged[0]!;
    expect(request).toStrictEqual({ code: 'a code', state: 's', redirectUri: CALLBACK });
  });

  it('hands on whatever the adapter needs', async () => {
    memory = { nonce: 'n' };
    await receive({ ticket: 'a ticket', iss: 'https://id.example' });
    expect(exchanged).toMatchObject([{ code: 'a ticket', iss: 'https://id.example', memory }]);
  });

  // Contract §4: of a provider's own error no more than what a client can act on. The rest is logged, as the cause.
  it.each<[said: string, told: string, isLogged: boolean]>([
    ['access_denied', 'access_denied', false],
    ['temporarily_unavailable', 'temporarily_unavailable', false],
    ['invalid_scope', 'server_error', true],
  ])('that is the error %s is told as %s', async (said, told, isLogged) => {
    const [result] = await Promise.allSettled([receive({ error: said })]);
    const thrown: unknown = result.status === 'rejected' && result.reason;
    expect(thrown).toMatchObject({ name: 'ErrorForClient', error: told });
    const { cause } = thrown as Error;
    if (isLogged) expect(cause).toBeInstanceOf(ProviderRefusal);
    else expect(cause).toBeUndefined();
    expect(exchanged).toEqual([]);
  });
});
