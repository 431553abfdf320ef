import type { Settings } from '../../../platform/config/settings/settings.js';

/** Returns the names of the providers with `signals=on`. */
export function signalProviders({ providers }: Pick<Settings, 'providers'>): readonly string[] {
  return [...providers.values()].filter(({ signals }) => signals).map(({ name }) => name);
}
