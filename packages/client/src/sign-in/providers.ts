import { LatchkeyError } from '../latchkey-error.js';
import type { Provider, SignInMode } from '../options.js';
import type { Call } from '../service/service.js';
import { sleep } from '../service/timer.js';

/** Seconds: a click must not wait longer. */
const MODE_TIMEOUT = 3;

export type Providers = ReturnType<typeof makeProviders>;

/** The providers that the service offers. */
export function makeProviders(call: Call) {
  let known: Provider[] = [];
  let loading: Promise<Provider[]> | undefined;
  /** The browser caches the answer for 300 s. */
  const load = async (): Promise<Provider[]> => {
    try {
      const { providers } = await call<{ providers: Provider[] }>('GET', '/oauth2/providers');
      if (!Array.isArray(providers)) throw new LatchkeyError('unexpected_answer');
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
