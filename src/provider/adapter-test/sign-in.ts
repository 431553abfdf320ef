import assert from 'node:assert/strict';
import type { ProviderSettings } from '../../config/settings/settings.js';
import type { AdapterMemory, ProviderAdapter, ProviderIdentity } from '../provider-adapter.js';
import type { Play } from './play.js';
import { CODE, REDIRECT_URI, SECRET, STATE } from './secrets.js';
import type { SeenRequest, SimulatedProvider } from './simulated-provider.js';

interface Exchanging {
  readonly code?: string;
  readonly iss?: string;
  readonly signal?: AbortSignal;
}

/** A sign-in with the adapter at a simulated provider. */
export class SignIn {
  readonly settings: ProviderSettings;
  private before = 0;

  constructor(
    private readonly adapter: ProviderAdapter,
    private readonly provider: SimulatedProvider,
    private readonly play: Play,
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

  async begin(): Promise<{ readonly url: URL; readonly memory?: AdapterMemory }> {
    const answer = await this.adapter.authorizationUrl(this.settings, {
      state: STATE,
      redirectUri: REDIRECT_URI,
    });
    this.before = this.provider.requests.length;
    return 'memory' in answer ? answer : { url: answer };
  }

  /** Where the browser arrives. By default the provider copies what is in the query of its page. */
  callback(page: URL): URL | string {
    if (this.play.callback) return this.play.callback(page, CODE);
    const values = [...page.searchParams.values()];
    assert.ok(values.includes(STATE), 'the state is missing');
    assert.ok(values.includes(REDIRECT_URI), 'the redirect URI is missing');
    return `${REDIRECT_URI}&code=${CODE}&state=${STATE}`;
  }

  /** From the arrival of the code on; `memory` goes through JSON, as in the database. */
  async exchange(how: Exchanging = {}): Promise<ProviderIdentity> {
    const { code = CODE, iss, signal = AbortSignal.timeout(5000) } = how;
    const { memory } = await this.begin();
    return this.adapter.exchange(this.settings, {
      code,
      state: STATE,
      redirectUri: REDIRECT_URI,
      signal,
      ...(iss !== undefined && { iss }),
      ...(memory !== undefined && { memory: JSON.parse(JSON.stringify(memory)) as AdapterMemory }),
    });
  }

  /** What the provider was asked since the last sign-in began. */
  sent(): readonly SeenRequest[] {
    return this.provider.requests.slice(this.before);
  }
}
