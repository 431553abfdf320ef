import type { ProviderRow } from '../../platform/config/providers/provider-keys.js';
import type { ProviderSettings } from '../../platform/config/providers/provider-settings.js';
import type { ProviderSource } from '../../platform/config/providers/provider-source.js';
import { oneOf, parser, text } from '../../platform/config/settings/parsers.js';
import { USER_ID } from '../../provider/identity/identity.js';
import type { Settings } from '../../platform/config/settings/settings.js';

const tokens = parser(
  'one or two texts of at least 32 characters without spaces, separated by a comma',
  (value) => {
    const all = value.split(',').map((token) => token.trim());
    return all.length <= 2 && all.every((token) => /^[\w.~+/=-]{32,512}$/.test(token)) ? all : undefined;
  },
);

export const providerKeys = {
  scim_token: {
    parser: tokens,
    secret: true,
    doc: 'Enables SCIM (docs/directory.md): token of the directory, at least 32 characters; two, separated by a comma, while it is replaced.',
  },
  scim_attribute: {
    parser: oneOf('externalId', 'userName'),
    default: 'externalId',
    doc: 'Attribute of a directory user that is compared with `scim_claim`: `externalId` byte for byte, `userName` without case.',
  },
  scim_claim: {
    parser: text,
    defaultShown: 'the user id; `oid` for `microsoft`',
    doc: 'Claim of a sign-in that names the user in the directory: `provider_user_id`, a path in the ID token or userinfo (`oidc`, `oauth2`), or a claim of `claims`.',
  },
} as const satisfies Record<string, ProviderRow<unknown>>;

/** How a provider's directory is known, and which of its users is which user. */
export interface ScimSettings {
  /** Each of them is accepted. */
  readonly tokens: readonly string[];
  readonly attribute: 'externalId' | 'userName';
  /** `provider_user_id`, a path in the claims of the provider, or a kept claim. */
  readonly claim: string;
}

declare module '../../platform/config/providers/provider-settings.js' {
  interface ProviderSettings {
    /** SCIM of its directory (docs/directory.md); unset: off. */
    readonly scim?: ScimSettings | undefined;
  }
}

export function readDirectory(source: ProviderSource): Partial<ProviderSettings> {
  // Microsoft has another `sub` for each application (docs/directory/entra.md).
  const usual = source.adapter === 'microsoft' ? 'oid' : USER_ID;
  const claim = source.read(providerKeys, 'scim_claim') ?? usual;
  const attribute = source.read(providerKeys, 'scim_attribute') ?? 'externalId';
  const accepted = source.read(providerKeys, 'scim_token');
  return {
    // Also while SCIM is off, so that no session ends once it is turned on (docs/directory.md#who-is-who).
    ...((accepted || claim !== USER_ID) && { keeps: [claim] }),
    ...(accepted && { scim: { tokens: accepted, attribute, claim }, directoryClaims: ['groups', 'roles'] }),
  };
}

/** A token must name one provider. */
export function refuseSharedTokens(sources: readonly ProviderSource[]): void {
  const owners = new Map<string, string>();
  for (const source of sources) {
    for (const token of (source.text('scim_token') ?? '').split(',').map((one) => one.trim())) {
      const owner = owners.get(token) ?? source.name;
      if (token !== '') owners.set(token, owner);
      if (owner === source.name) continue;
      const use = 'a token of its own for each provider';
      source.refuse('scim_token', `is also the token of ${owner}`, use, { secret: true });
    }
  }
}

/** Returns the address of the interface for the directory of a provider, without a trailing slash. */
export function scimAddress({ publicUrl }: Pick<Settings, 'publicUrl'>, provider: string): string {
  return `${publicUrl}/scim/v2/${provider}`;
}

/** Returns the providers with `scim_token`, by name. */
export function scimProviders({ providers }: Pick<Settings, 'providers'>): ReadonlyMap<string, ScimSettings> {
  return new Map([...providers].flatMap(([name, { scim }]) => (scim ? [[name, scim] as const] : [])));
}
