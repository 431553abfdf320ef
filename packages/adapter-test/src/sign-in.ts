import assert from 'node:assert/strict';
import type { ProviderSettings } from '../../../src/platform/config/providers/provider-settings.js';
import type {
  AdapterMemory,
  ExchangeRequest,
  ProviderAdapter,
  ProviderIdentity,
} from '../../../src/provider/provider-adapter.js';
import type { SeenRequest, SimulatedAnswer, SimulatedProvider } from './simulated-provider.js';

export const SECRET = 'the secret of the contract test';
export const STATE = '5e'.repeat(32);
export const REDIRECT_URI = 'https://app.example/callback?from=test';
export const CODE = 'c0de_-~.42';

/** Behaviour of the author's provider, simulated on loopback at `provider.url`. */
export interface Play {
  /** Answers a request about a valid code. */
  readonly accepted: (request: SeenRequest) => SimulatedAnswer;
  /** Answers a request about an unknown or used code. */
  readonly refused: (request: SeenRequest) => SimulatedAnswer;
  /** Id of the user whom `accepted` signs in. */
  readonly userId: string;
  /** Further keys of the adapter's settings. */
  readonly options?: (url: string) => Readonly<Record<string, string>>;
  /**
   * Returns the address to which the provider sends the browser: the redirect URI with `state`, and the code as `code` or (CAS)
   * `ticket`. Default: `<redirectUri>?code=…&state=…`, if the query of the provider's page contains both values.
   */
  readonly callback?: (page: URL, code: string) => URL | string;
  /** The protocol has the code in the address of a request (CAS), not in a body. */
  readonly codeInAddress?: boolean;
}

export type Thrown = Error & { readonly error?: unknown };

/** Sign-in with the adapter at a simulated provider. */
export class SignIn {
  readonly settings: ProviderSettings;
  private before = 0;

  constructor(
    readonly adapter: ProviderAdapter,
    readonly play: Play,
    private readonly provider: SimulatedProvider,
  ) {
    const { url } = provider;
    this.settings = {
      name: 'test',
      adapter: 'test',
      url,
      clientId: 'app',
      clientSecret: SECRET,
      variables: { adapter: 'providers.test.adapter', issuer: 'providers.test.issuer' },
      options: play.options?.(url) ?? {},
    };
  }

  /** Asks the adapter for the provider's page. */
  async begin(): Promise<{ readonly url: URL; readonly memory?: AdapterMemory }> {
    const request = { state: STATE, redirectUri: REDIRECT_URI };
    const answer = await this.adapter.authorizationUrl(this.settings, request);
    this.before = this.provider.requests.length;
    return 'memory' in answer ? answer : { url: answer };
  }

  /** Returns the address at which the browser arrives after the provider's page. */
  callback(page: URL): URL {
    if (this.play.callback) return new URL(this.play.callback(page, CODE));
    const values = [...page.searchParams.values()];
    assert.ok(values.includes(STATE), 'the state is missing');
    assert.ok(values.includes(REDIRECT_URI), 'the redirect URI is missing');
    return new URL(`${REDIRECT_URI}&code=${CODE}&state=${STATE}`);
  }

  /** Redeems a code. `memory` goes through JSON, as in the database. */
  async exchange(own: Partial<ExchangeRequest> = {}): Promise<ProviderIdentity> {
    const { memory } = await this.begin();
    return this.adapter.exchange(this.settings, {
      code: CODE,
      state: STATE,
      redirectUri: REDIRECT_URI,
      signal: AbortSignal.timeout(5000),
      ...(memory !== undefined && { memory: JSON.parse(JSON.stringify(memory)) as AdapterMemory }),
      ...own,
    });
  }

  /** Redeems a code, which must fail. @returns the error, which is logged with its causes: no message may contain a secret */
  async failure(own?: Partial<ExchangeRequest>): Promise<Thrown> {
    const [identity, error] = await this.outcome(own);
    assert.ok(error, `it resolved with ${JSON.stringify(identity)}`);
    return error;
  }

  /** Redeems a code. @returns the identity or the error */
  async outcome(own?: Partial<ExchangeRequest>): Promise<[ProviderIdentity | undefined, Thrown?]> {
    try {
      return [await this.exchange(own)];
    } catch (thrown) {
      checkMessages(thrown);
      return [undefined, thrown as Thrown];
    }
  }

  /** Requests that the provider received since the last sign-in began. */
  sent(): readonly SeenRequest[] {
    return this.provider.requests.slice(this.before);
  }
}

/** Whether a text contains a secret: as it is, or encoded for an address or a form. */
export function contains(text: string, secret: string): boolean {
  const form = new URLSearchParams({ '': secret }).toString().slice(1);
  return [secret, encodeURIComponent(secret), form].some((spelling) => text.includes(spelling));
}

function checkMessages(thrown: unknown): void {
  assert.equal(typeof (thrown as Thrown | null)?.message, 'string', 'the adapter threw no Error');
  for (let at = thrown, depth = 0; depth < 5; depth++) {
    const { message = '', cause } = (at ?? {}) as Partial<Thrown>;
    assert.ok(!contains(message, SECRET), 'a message contains the client secret');
    assert.ok(!contains(message, CODE), 'a message contains the code');
    at = cause;
  }
}
