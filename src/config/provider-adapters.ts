import { kind } from './kinds.js';

/** What an adapter of the service needs of a provider beside its credentials, and what a preset fills in. */
export interface AdapterRules {
  /** The adapter that does the work, where this is a preset of it (contract §6). */
  readonly presetOf?: string;
  readonly requires: readonly string[];
  /** Keys that have these values unless they are given. */
  readonly defaults: Readonly<Record<string, string>>;
  /** What `iss` in the callback is (RFC 9207), as long as the servers are those of the preset. */
  readonly issuer?: string;
}

/** The adapters that come with the service (contract §2, `adapter`). */
export const ADAPTERS: ReadonlyMap<string, AdapterRules> = new Map<string, AdapterRules>([
  ['contract', { requires: ['url'], defaults: {} }],
  ['oidc', { requires: ['url'], defaults: {} }],
  ['oauth2', { requires: ['authorize_url', 'token_url', 'userinfo_url'], defaults: {} }],
  [
    'github',
    {
      presetOf: 'oauth2',
      requires: [],
      defaults: {
        authorize_url: 'https://github.com/login/oauth/authorize',
        token_url: 'https://github.com/login/oauth/access_token',
        userinfo_url: 'https://api.github.com/user',
        scope: 'read:user',
        claim_user_id: 'id',
        claim_username: 'name,login',
        claim_avatar_url: 'avatar_url',
      },
      issuer: 'https://github.com/login/oauth',
    },
  ],
  [
    'discord',
    {
      presetOf: 'oauth2',
      requires: [],
      defaults: {
        authorize_url: 'https://discord.com/oauth2/authorize',
        token_url: 'https://discord.com/api/oauth2/token',
        userinfo_url: 'https://discord.com/api/users/@me',
        scope: 'identify email',
        claim_user_id: 'id',
        claim_username: 'global_name,username',
        claim_avatar_url: 'https://cdn.discordapp.com/avatars/{id}/{avatar}.png',
      },
      issuer: 'https://discord.com',
    },
  ],
  ['google', { presetOf: 'oidc', requires: [], defaults: { url: 'https://accounts.google.com' } }],
]);

/** The rules of an adapter; one of an integrator's own asks for nothing. */
export function adapterRules(name: string): AdapterRules {
  return ADAPTERS.get(name) ?? { requires: [], defaults: {} };
}

export const ADAPTER_ACCEPTS = `${[...ADAPTERS.keys()].join(', ')}, a file that begins with ./ or /, or the name of an installed package`;

const PACKAGE = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

/** Whether there is such a file or package is seen when it is loaded. */
export const adapterName = kind(ADAPTER_ACCEPTS, (name) =>
  ADAPTERS.has(name) || /^\.?\/./.test(name) || PACKAGE.test(name) ? name : undefined,
);
