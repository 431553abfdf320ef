import type { SignInMode } from './options.js';
import type { Call } from './service.js';
import { sleep } from './timer.js';

/** Seconds. A click must not wait for longer. */
const LONGEST_WAIT = 3;

/** How the provider's page is to be shown, as the service's settings say. */
export interface Modes {
  /** The mode, if it is known without waiting: browsers open windows only during the click. */
  readonly known: () => SignInMode | undefined;
  /** Asks the service; `iframe` where it does not say within 3 s. Never rejects. */
  readonly ask: () => Promise<SignInMode>;
}

/** @param provider its name */
export function makeModes(call: Call, provider: string): Modes {
  let known: SignInMode | undefined;
  /** The browser keeps the answer for 300 s (contract §4), so it may be asked for often. */
  const load = async (): Promise<void> => {
    const { providers } = await call<{ providers: { name: string; mode: string }[] }>(
      'GET',
      '/oauth2/providers',
    );
    const mode = providers.find(({ name }) => name === provider)?.mode;
    if (/^(iframe|popup|redirect)$/.test(mode!)) known = mode as SignInMode;
  };
  return {
    known: () => known,
    async ask() {
      const loading = load().catch(() => undefined); // away, older than this endpoint, or no answer of this kind
      await Promise.race([loading, sleep(LONGEST_WAIT)]);
      return known ?? 'iframe';
    },
  };
}
