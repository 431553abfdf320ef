import type { ProviderSettings } from '../platform/config/settings/settings.js';
import { OAuthError } from '../platform/errors/oauth-error.js';
import { OptionalText, type TextRule } from '../platform/http/parameters/parameter.js';

const PARAM = {
  pattern: /^\P{Cc}{1,1024}$/u,
  as: 'at most 1024 characters, without control characters',
} satisfies TextRule['matches'];

/** Parameters of GET /oauth2/authorize for the provider's page; the adapter `contract` sends none of them. */
export class ProviderParamsDto {
  /** Passed to the provider: the user that will sign in (OpenID Connect Core §3.1.2.1, here and below). */
  @OptionalText({ matches: PARAM })
  login_hint?: string;

  /** Passed to the provider: `login`, `select_account`, `consent` or `none`. */
  @OptionalText({ matches: PARAM })
  prompt?: string;

  /**
   * Seconds since the user last authenticated, at most: passed to the provider, and checked at the end of the
   * sign-in (RFC 9470).
   */
  @OptionalText({ matches: { pattern: /^\d{1,9}$/, as: 'a number of seconds' } })
  max_age?: string;

  /**
   * How the user has to authenticate: passed to the provider, and checked at the end of the sign-in. Several
   * are separated by spaces.
   */
  @OptionalText({ matches: PARAM })
  acr_values?: string;

  /** Passed to the provider: languages of its page. */
  @OptionalText({ matches: PARAM })
  ui_locales?: string;

  /** Passed to the provider: languages of the claims. */
  @OptionalText({ matches: PARAM })
  claims_locales?: string;

  /** Passed to the provider: domain of the user (Microsoft). */
  @OptionalText({ matches: PARAM })
  domain_hint?: string;

  /** Passed to the provider: domain of the user (Google). */
  @OptionalText({ matches: PARAM })
  hd?: string;
}

const STANDARD: readonly (keyof ProviderParamsDto)[] = [
  'login_hint',
  'prompt',
  'max_age',
  'acr_values',
  'ui_locales',
  'claims_locales',
  'domain_hint',
  'hd',
];

/** Names of the provider's setting `allowed_params`. */
export function allowedParams(options: ProviderSettings['options']): string[] {
  return (options['allowed_params']?.split(',') ?? []).map((name) => name.trim());
}

/**
 * Returns the parameters that a client passes to the provider's page: the standard ones, validated before,
 * and those of the provider's setting `allowed_params`.
 * @param query of the request, as it came
 * @throws OAuthError `invalid_request` if a parameter is repeated, over-long or has control characters
 */
export function providerParams(
  { options }: ProviderSettings,
  query: Readonly<Record<string, unknown>>,
): { params?: Record<string, string> } {
  const names = [...STANDARD, ...allowedParams(options)];
  const sent = names.map((name) => [name, query[name] ?? ''] as const);
  const params = sent.filter((entry): entry is [string, string] => {
    const [name, value] = entry;
    if (value === '') return false; // counts as absent (RFC 6749 §3.1)
    if (typeof value === 'string' && value.isWellFormed() && PARAM.pattern.test(value)) return true;
    throw new OAuthError('invalid_request', `${name} must be ${PARAM.as}`);
  });
  return params.length > 0 ? { params: Object.fromEntries(params) } : {};
}
