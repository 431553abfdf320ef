import { createContext, createElement, useContext, type ReactElement, type ReactNode } from 'react';
import type { Latchkey } from '../latchkey.js';
import type { Register } from './register.js';

/** The application's own events, where it has told them. */
export type RegisteredEvents = Register extends { client: Latchkey<infer Events> } ? Events : object;

const ClientContext = createContext<Latchkey<RegisteredEvents> | undefined>(undefined);

/** What `<LatchkeyProvider>` takes. */
export interface LatchkeyProviderProps<Events extends object = object> {
  /** What `createClient` has returned. Make it once, outside of components. */
  client: Latchkey<Events>;
  children?: ReactNode;
}

/**
 * Gives the client to all hooks and components below it.
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
  // oxlint-disable-next-line typescript/no-unnecessary-condition -- in JavaScript nothing else would say so
  if (!client) throw new Error('<LatchkeyProvider> needs a client: <LatchkeyProvider client={latchkey}>');
  return createElement(
    ClientContext.Provider,
    { value: client as unknown as Latchkey<RegisteredEvents> },
    children,
  );
}

/**
 * The client of the provider above: `signOut()`, `fetch()`, `devices()` and everything else.
 * @throws Error without a provider
 *
 * @example
 * const latchkey = useLatchkey();
 * return <button onClick={() => latchkey.signOut().catch(() => {})}>Sign out</button>;
 */
export function useLatchkey(): Latchkey<RegisteredEvents> {
  const client = useContext(ClientContext);
  if (!client) throw new Error('There is no <LatchkeyProvider> above this component');
  return client;
}
