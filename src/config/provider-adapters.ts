import { kind } from './kinds.js';

/** The keys that an adapter of ours needs beside the credentials (contract §2, `adapter`). */
const REQUIRED: ReadonlyMap<string, readonly string[]> = new Map([
  ['contract', ['url']],
  ['oidc', ['url']],
  ['oauth2', ['authorize_url', 'token_url', 'userinfo_url']],
]);

/** These need only credentials: `provider/presets.ts` has the other settings for each name (contract §6). */
export const PRESET_NAMES = ['github', 'discord', 'google'] as const;

/** The adapters that come with the service. */
export const ADAPTERS: ReadonlySet<string> = new Set([...REQUIRED.keys(), ...PRESET_NAMES]);

/** The keys that an adapter needs beside the credentials; an integrator's own adapter needs none. */
export function requiredKeys(adapter: string): readonly string[] {
  return REQUIRED.get(adapter) ?? [];
}

export const ADAPTER_ACCEPTS = `${[...ADAPTERS].join(', ')}, a file that begins with ./ or /, or the name of an installed package`;

const PACKAGE = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

/** Checks only the form: whether the file or package exists turns out when it is loaded. */
export const adapterName = kind(ADAPTER_ACCEPTS, (name) =>
  ADAPTERS.has(name) || /^\.?\/./.test(name) || PACKAGE.test(name) ? name : undefined,
);
