/** Errors of a callback that no setting causes; clients get them (docs/stock-clients.md#errors). */
const CODES = [
  'access_denied',
  'temporarily_unavailable', // RFC 6749 §4.1.2.1
  'login_required', // and below: prompt=none, OpenID Connect Core §3.1.2.6
  'interaction_required',
  'consent_required',
  'account_selection_required',
] as const;

export type ProviderCode = (typeof CODES)[number];

export function isProviderCode(error: unknown): error is ProviderCode {
  return (CODES as readonly unknown[]).includes(error);
}
