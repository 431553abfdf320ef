import { claimPaths } from '../../platform/config/providers/claim-paths.js';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import { emailDoubt, isPartOf, mappedClaims, sourcesOf, type Claims } from './claims.js';
import { parseIdentity, type Identity } from './identity.js';
import { claimMaps, selectClaims } from './select-claims.js';

/** Claim that a provider sent, or that the settings expect. */
export interface ClaimFinding {
  readonly name: string;
  /** Absent: the provider did not send it. */
  readonly value?: unknown;
  /** Fields of the identity and names of claims that have the value. */
  readonly usedAs: readonly string[];
  /** Why it is not kept; null if it is. */
  readonly dropped: string | null;
}

/** Claims of the protocol itself (OpenID Connect Core §2, §5.1; Back-Channel Logout §2.4). */
const OF_PROTOCOL = new Set(
  'iss aud exp iat nbf jti azp nonce at_hash c_hash s_hash sid auth_time acr amr email_verified verified'.split(
    ' ',
  ),
);

type Field = 'providerUserId' | 'username' | 'email' | 'avatarUrl';
const FIELDS: readonly (readonly [option: string, name: string, field: Field, rule: string])[] = [
  ['claim_user_id', 'provider_user_id', 'providerUserId', 'is not a text of 1 to 255 characters'],
  ['claim_username', 'username', 'username', 'is not a text of at most 255 characters'],
  ['claim_email', 'email', 'email', 'is not a text of at most 255 characters'],
  ['claim_avatar_url', 'avatar_url', 'avatarUrl', 'is not an http(s) URL of at most 2048 characters'],
];

const NOBODY: Identity = { ...parseIdentity({ provider_user_id: '-' }), providerUserId: '' };

/** Returns each claim's place in the identity, or why it was dropped. @param found null: refused */
export function findingsOf(
  received: Claims,
  { adapter, options }: Pick<ProviderSettings, 'adapter' | 'options'>,
  found: Identity | null,
): ClaimFinding[] {
  const identity = found ?? NOBODY;
  const uses = new Map<string, string[]>();
  const reasons = new Map<string, string>();
  const keep = (name: string, as: string): unknown => uses.set(name, [...(uses.get(name) ?? []), as]);

  for (const [option, name, field, rule] of FIELDS) {
    const sources = adapter === 'contract' ? [name] : sourcesOf(received, options, option);
    const doubt = field === 'email' ? emailDoubt(received, options[option] ?? 'email', options) : undefined;
    for (const source of sources) {
      if (identity[field]) keep(source, name);
      else reasons.set(source, doubt ?? rule);
    }
  }
  const mapped = mappedClaims(received, options);
  const { dropped, noted, cuts } = selectClaims(mapped, claimMaps(options));
  for (const [name, path] of claimPaths(options['claims'])) {
    const source = Object.keys(received).find((one) => isPartOf(path, one)) ?? path;
    const why = [...dropped, ...noted].find((one) => one.name === name)?.why;
    const cut = cuts.find((one) => one.name === name);
    if (cut) reasons.set(source, `is beyond the limits: ${cut.fitting} of ${cut.of} are kept`);
    if (why !== undefined) reasons.set(source, why);
    if (Object.hasOwn(identity.claims, name)) keep(source, `claim ${name}`);
    else if (why !== undefined || cut) continue;
    else if (mapped && Object.hasOwn(mapped, name)) keep(source, `claim ${name}`);
    // An unverified address has its reason from the field `email`.
    else if (!reasons.has(source)) reasons.set(source, `has nothing at ${path}`);
  }
  if (!mapped && received['claims']) reasons.set('claims', 'the setting claims names none of it');

  // Tokens carry them.
  const { authTime: auth_time, acr, amr } = identity;
  for (const [name, value] of Object.entries({ auth_time, acr, amr })) if (value !== null) keep(name, name);

  const missing = [...reasons.keys()].filter((name) => !Object.hasOwn(received, name));
  return [
    ...Object.entries(received).map(([name, value]) => {
      const as = uses.get(name) ?? [];
      const usual = OF_PROTOCOL.has(name) ? 'of the protocol: validated, not kept' : 'no setting names it';
      return { name, value, usedAs: as, dropped: as.length > 0 ? null : (reasons.get(name) ?? usual) };
    }),
    ...missing.map((name) => ({ name, usedAs: [], dropped: 'the provider did not send it' })),
  ];
}
