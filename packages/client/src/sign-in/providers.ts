import { LatchkeyError } from '../latchkey-error.js';
import type { Provider, SignInMode } from '../options.js';
import type { Call } from '../service/service.js';
import { sleep } from '../service/timer.js';

/** Seconds: a click must not wait longer. */
const MODE_TIMEOUT = 3;

/** `by_email`: providers serve domains, so the user's address chooses. */
type Answer = { readonly providers: Provider[]; readonly by_email?: true };

export type Providers = ReturnType<typeof makeProviders>;

/** The providers that the service offers. */
export function makeProviders(call: Call) {
  let known: Provider[] = [];
  let byEmail: true | undefined;
  let loading: Promise<Provider[]> | undefined;
  const list = async (query = ''): Promise<Answer> => {
    const answer = await call<Answer>('GET', `/oauth2/providers${query}`);
    if (!Array.isArray(answer.providers)) throw new LatchkeyError('unexpected_answer');
    return answer;
  };
  /** The browser caches the answer for 300 s. */
  const load = async (): Promise<Provider[]> => {
    try {
      const { providers, by_email } = await list();
      byEmail = by_email;
      return (known = providers);
    } catch (error) {
      loading = undefined; // the next call tries again
      throw error;
    }
  };
  const providers = (): Promise<Provider[]> => (loading ??= load());
  const knownMode = (provider?: string): SignInMode | undefined => {
    const mode = known.find(({ name }) => name === provider)?.mode;
    return /^(iframe|popup|redirect)$/.test(mode!) ? mode : undefined;
  };
  return {
    providers,
    /** Returns the request for the providers of a domain, by its query; undefined unless providers serve domains. */
    listByEmail: () => byEmail && list,
    /** Returns the only enabled provider, if that is known already. */
    onlyProvider: () => (known.length === 1 ? known[0]!.name : undefined),
    /** Returns the provider's mode if it is known already: browsers open windows only during a click. */
    knownMode,
    /** Asks for the provider's mode; `iframe` without an answer in 3 s. Never rejects. */
    askMode: async (provider: string): Promise<SignInMode> => {
      await Promise.race([providers().catch(() => undefined), sleep(MODE_TIMEOUT)]);
      return knownMode(provider) ?? 'iframe';
    },
  };
}
