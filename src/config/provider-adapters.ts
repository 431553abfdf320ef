import { kind } from './kinds.js';

/** The keys that an adapter of ours needs beside the credentials (contract §2, `adapter`). */
const REQUIRED: ReadonlyMap<string, readonly string[]> = new Map([
  ['contract', ['url']],
  ['oidc', ['url']],
  ['oauth2', ['authorize_url', 'token_url', 'userinfo_url']],
]);

/** These need only credentials, and have the adapter named here: `provider/presets.ts` has their other settings (contract §6). */
export const PRESET_ADAPTERS = { github: 'oauth2', discord: 'oauth2', google: 'oidc' } as const;
export type PresetName = keyof typeof PRESET_ADAPTERS;

/** The adapters that come with the service. */
export const ADAPTERS: ReadonlySet<string> = new Set([...REQUIRED.keys(), ...Object.keys(PRESET_ADAPTERS)]);

/** The keys that an adapter needs beside the credentials; an integrator's own adapter needs none. */
export function requiredKeys(adapter: string): readonly string[] {
  return REQUIRED.get(adapter) ?? [];
}

/** Whether it is the adapter `oidc`, by itself or by a preset. */
export function isOpenId(adapter: string): boolean {
  return adapter === 'oidc' || (PRESET_ADAPTERS as Record<string, string>)[adapter] === 'oidc';
}

export const ADAPTER_ACCEPTS = `${[...ADAPTERS].join(', ')}, a file that begins with ./ or /, or the name of an installed package`;

const PACKAGE = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

/** Checks only the form: whether the file or package exists turns out when it is loaded. */
export const adapterName = kind(ADAPTER_ACCEPTS, (name) =>
  ADAPTERS.has(name) || /^\.?\/./.test(name) || PACKAGE.test(name) ? name : undefined,
);
