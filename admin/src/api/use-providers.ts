import useSWR from 'swr';
import type { OfferedProvider } from './types.js';

const NONE: readonly OfferedProvider[] = [];

/** The enabled providers; none until they are loaded. */
export function useProviders(): readonly OfferedProvider[] {
  const { data } = useSWR<{ providers: OfferedProvider[] }>('/oauth2/providers');
  return data?.providers ?? NONE;
}
