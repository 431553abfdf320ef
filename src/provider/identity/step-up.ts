import { siblingVariable } from '../../platform/config/providers/provider-variables.js';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { staticParams } from '../adapters/authorization-request.js';
import type { AdapterMemory } from '../provider-adapter.js';
import type { Identity } from './identity.js';

/** Seconds for the provider's clock and the way back (docs/guides/step-up.md#from-the-provider). */
const TOLERANCE = 60;

/** Requirements on the authentication of a sign-in (RFC 9470 §5; OpenID Connect Core §3.1.2.1). */
interface Required {
  /** Seconds since the user authenticated, at most. */
  readonly maxAge?: number;
  /** One of them is enough. */
  readonly acrValues?: readonly string[];
}

const MEMBER = 'latchkey:required'; // member of the state's memory that has them, beside the adapter's own

/** Adds the requirements of a request, and of `authorize_params`, to the memory of its state. */
export function withRequired(
  memory: AdapterMemory | undefined,
  params: Readonly<Record<string, string>> = {},
  options: ProviderSettings['options'],
): AdapterMemory | undefined {
  const { max_age: age = '', acr_values: values = '' } = { ...staticParams(options), ...params };
  const acrValues = values.split(' ').filter((value) => value !== '');
  const required: Required = {
    ...(/^\d{1,9}$/.test(age) && { maxAge: Number(age) }),
    ...(acrValues.length > 0 && { acrValues }),
  };
  return Object.keys(required).length > 0 ? { ...memory, [MEMBER]: required } : memory;
}

export function splitRequired(memory: AdapterMemory | undefined): {
  readonly required: Required;
  readonly own?: AdapterMemory;
} {
  if (!memory || !(MEMBER in memory)) return { required: {}, ...(memory && { own: memory }) };
  const { [MEMBER]: required, ...own } = memory;
  return { required: required as Required, ...(Object.keys(own).length > 0 && { own }) };
}

/**
 * Returns the identity with a usable `authTime`. @param seconds now, by the database's clock
 * @throws OAuthError `invalid_grant` if the authentication does not meet the requirements
 */
export function authenticated(
  identity: Identity,
  { maxAge, acrValues }: Required,
  { name, authTime: setting, variables }: ProviderSettings,
  seconds: number,
  warn: (line: string) => void,
): Identity {
  const { authTime: reported, acr } = identity;
  const isUsable = reported !== null && reported <= seconds + TOLERANCE;
  const authTime = isUsable ? reported : setting === 'sign_in' ? seconds : null;
  if (maxAge !== undefined && authTime === null) {
    const variable = siblingVariable(variables.adapter, 'auth_time');
    warn(
      `provider ${name} reports no auth_time, so a sign-in with max_age was refused; if its page asks for the password each time, set ${variable} to sign_in`,
    );
    throw new OAuthError('invalid_grant', 'max_age was asked for, and the provider reports no auth_time');
  }
  if (maxAge !== undefined && authTime! < seconds - maxAge - TOLERANCE) {
    throw new OAuthError('invalid_grant', 'the user authenticated longer ago than max_age allows');
  }
  if (acrValues && (acr === null || !acrValues.includes(acr))) {
    throw new OAuthError('invalid_grant', 'the acr that the provider reports is none of acr_values');
  }
  return { ...identity, authTime };
}
