import type { AllowRule, Condition } from '../../platform/config/providers/allow-rule.js';
import type { ProviderSettings } from '../../platform/config/providers/provider-settings.js';
import { addressKey, domainKey } from '../../platform/config/urls/email-address.js';
import type { Claims } from './claims.js';
import type { Identity } from './identity.js';

/** What the setting `allow` reads of an identity. */
export interface AllowFacts {
  readonly providerUserId: string;
  /** Verified by the provider, or trusted by the operator (`email_trusted`); else null. */
  readonly verifiedEmail: string | null;
  /** `hd` of Google, needed outside `gmail.com`; undefined: the provider has no such claim; null: absent. */
  readonly hostedDomain?: string | null | undefined;
  /** As the provider sent them, before a cut, with the directory's `groups` and `roles`. */
  readonly claims: Claims;
  /** For the condition `directory`: whether the provider's directory has the user, who is active. */
  readonly isInDirectory?: boolean | undefined;
}

/** Returns the facts of an identity, without the facts of features. @param settings of its provider */
export function allowFacts(
  { providerUserId, email, proof }: Pick<Identity, 'providerUserId' | 'email' | 'proof'>,
  { adapter, emailTrusted }: EmailSettings,
): Omit<AllowFacts, 'isInDirectory'> {
  const isTrusted = proof.isEmailVerified || (emailTrusted ?? adapter === 'contract');
  const { hostedDomain, claims } = proof;
  return { providerUserId, verifiedEmail: isTrusted ? email : null, hostedDomain, claims };
}

type EmailSettings = Pick<ProviderSettings, 'adapter' | 'emailTrusted'>;

export type Verdict =
  | { readonly isAllowed: true; readonly by: string }
  | { readonly isAllowed: false; readonly reason: Condition['kind'] };

/** Checks an identity against the provider's setting `allow` (docs/guides/access-policy.md#conditions). */
export function checkAllow(rule: AllowRule, facts: AllowFacts): Verdict {
  let failed: Condition | undefined;
  for (const { text, conditions } of rule) {
    const first = conditions.find((condition) => !holds(condition, facts));
    if (!first) return { isAllowed: true, by: text };
    failed ??= first;
  }
  return { isAllowed: false, reason: failed?.kind ?? 'everyone' };
}

function holds(condition: Condition, facts: AllowFacts): boolean {
  switch (condition.kind) {
    case 'everyone':
      return true;
    case 'directory':
      return facts.isInDirectory === true;
    case 'user_id':
      return condition.id === facts.providerUserId;
    case 'claim':
      return hasClaim(facts.claims, condition.name, condition.value);
    case 'email_domain': {
      const domain = countedDomain(facts);
      if (domain === undefined || !isDomainOf(condition, domain)) return false;
      return isProvenByGoogle(facts, domain, (hosted) => isDomainOf(condition, hosted));
    }
    case 'email': {
      const domain = countedDomain(facts);
      if (domain === undefined || addressKey(facts.verifiedEmail!) !== condition.address) return false;
      return isProvenByGoogle(facts, domain, (hosted) => hosted === domain);
    }
    default:
      return false;
  }
}

/** Returns the key of the address's domain; undefined if no address counts. */
function countedDomain({ verifiedEmail }: AllowFacts): string | undefined {
  const [local, domain, ...others] = verifiedEmail?.split('@') ?? [];
  return local && domain && others.length === 0 ? domainKey(domain) : undefined;
}

function isDomainOf(condition: Condition & { kind: 'email_domain' }, domain: string): boolean {
  return condition.isOfSubdomains ? domain.endsWith(`.${condition.domain}`) : domain === condition.domain;
}

/** An account of Google may keep an address of a company that its owner has left: `hd` proves the company. */
function isProvenByGoogle(
  { hostedDomain }: AllowFacts,
  domain: string,
  accepts: (hostedDomain: string) => boolean,
): boolean {
  if (hostedDomain === undefined || domain === 'gmail.com') return true;
  return hostedDomain !== null && accepts(domainKey(hostedDomain));
}

function hasClaim(claims: Claims, name: string, value: string | undefined): boolean {
  if (!Object.hasOwn(claims, name)) return false;
  const values = [claims[name]].flat();
  return value === undefined ? values.some(isPresent) : values.map(toText).includes(value);
}

/** `false` and what is empty are no value. */
function isPresent(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(isPresent);
  return value !== undefined && value !== null && value !== '' && value !== false;
}

/** Objects are compared as JSON. */
function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? '' : JSON.stringify(value);
}
