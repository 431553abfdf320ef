import { createContext, createElement, useContext, type ReactElement, type ReactNode } from 'react';
import type { Latchkey } from '../latchkey.js';
import type { Register } from './register.js';

/** The application's events, if it has registered its client. */
export type RegisteredEvents = Register extends { client: Latchkey<infer Events> } ? Events : object;

const ClientContext = createContext<Latchkey<RegisteredEvents> | undefined>(undefined);

/** The properties of `<LatchkeyProvider>`. */
export interface LatchkeyProviderProps<Events extends object = object> {
  /** A client of `createClient`, made once outside of components. */
  client: Latchkey<Events>;
  children?: ReactNode;
}

/**
 * Provides the client to all hooks and components below it.
 * @throws Error without a client
 *
 * @example
 * <LatchkeyProvider client={latchkey}>
 *   <App />
 * </LatchkeyProvider>
 */
export function LatchkeyProvider<Events extends object>({
  client,
  children,
}: LatchkeyProviderProps<Events>): ReactElement {
  // oxlint-disable-next-line typescript/no-unnecessary-condition -- JavaScript has no type check
  if (!client) throw new Error('<LatchkeyProvider> has no client: pass client={latchkey}');
  return createElement(
    ClientContext.Provider,
    { value: client as unknown as Latchkey<RegisteredEvents> },
    children,
  );
}

/**
 * Returns the client of the provider above: `signOut()`, `fetch()`, `devices()` and all other functions.
 * @throws Error without a provider
 *
 * @example
 * const latchkey = useLatchkey();
 * return <button onClick={() => latchkey.signOut().catch(() => {})}>Sign out</button>;
 */
export function useLatchkey(): Latchkey<RegisteredEvents> {
  const client = useContext(ClientContext);
  if (!client) throw new Error('No <LatchkeyProvider> above this component: add one');
  return client;
}
