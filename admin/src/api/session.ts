import { createContext, useContext } from 'react';
import type { AdminSession } from './types.js';

export const SessionContext = createContext<AdminSession | undefined>(undefined);

/** Whether the person may change users, besides signing them out. The service checks each call. */
export function useMayChange(): boolean {
  return useContext(SessionContext)?.right === 'users';
}

/** The id of the person. */
export function useOwnId(): string | undefined {
  return useContext(SessionContext)?.user_id;
}
