import { hash, randomBytes } from 'node:crypto';
import { OFFLINE } from '../../platform/config/providers/presets.js';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import type { AdapterMemory } from '../provider-adapter.js';

type Options = ProviderSettings['options'];

/**
 * Parameters of every authorization request (docs/settings.md#providers); parameters of the flow override
 * them.
 */
export function staticParams({ authorize_params: query = '' }: Options): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(query));
}

/**
 * Replaces `select_account` by `login` if discovery says that the provider does not know it: Keycloak then
 * signs in the account of its session at once, and with `login` its page offers another one.
 * @param supported `prompt_values_supported` of the discovery document
 */
export function knownPrompt(prompt: string | undefined, supported: unknown): { prompt?: string } {
  const isUnknown = prompt === 'select_account' && Array.isArray(supported) && !supported.includes(prompt);
  return isUnknown ? { prompt: 'login' } : {};
}

/** Returns an address with parameters, beside those of its own query. */
export function withParameters(address: string, parameters: Readonly<Record<string, string>>): URL {
  const url = new URL(address);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url;
}

/** Whether the service uses PKCE with the provider. @param usual without the setting */
export function usesPkce(options: Options, usual: 'on' | 'off'): boolean {
  return (options['pkce'] ?? usual) === 'on';
}

/**
 * Creates a challenge: parameters of the authorization request (RFC 7636 §4.3), and the memory for the
 * exchange.
 */
export function challenge(): { parameters: Record<string, string>; memory: { codeVerifier: string } } {
  const codeVerifier = randomText();
  const parameters = { code_challenge: challengeOf(codeVerifier), code_challenge_method: 'S256' };
  return { parameters, memory: { codeVerifier } };
}

/** Returns a text that nobody can guess: a verifier (RFC 7636 §4.1), a nonce. */
export function randomText(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the S256 challenge of a verifier (RFC 7636 §4.2). */
export function challengeOf(codeVerifier: string): string {
  return hash('sha256', codeVerifier, 'base64url');
}

/**
 * Returns the parameter of the exchange (RFC 7636 §4.5), or none without a challenge.
 * @throws as `memorized`
 */
export function verifierOf(memory: AdapterMemory | undefined, isRequired: boolean) {
  const code_verifier = memorized('codeVerifier', memory, isRequired);
  return code_verifier === undefined ? {} : { code_verifier };
}

/**
 * Returns a text of the memory.
 * @throws if it is required and absent: the settings were changed during the sign-in
 */
export function memorized(name: string, memory: AdapterMemory | undefined, isRequired: boolean) {
  const value = memory?.[name];
  if (typeof value === 'string') return value;
  if (isRequired) throw new Error('the sign-in was begun with another adapter or setting');
  return undefined;
}

/**
 * Returns the parameters with which the provider issues a refresh token, if `offline` is set.
 * @param prompt of the client
 * @param supported `scopes_supported` of the provider; some products reject the scope `offline_access`
 */
export function offlineParams(
  { offline, options }: Pick<ProviderSettings, 'offline' | 'options'>,
  { scope, prompt }: { readonly scope: string; readonly prompt: string | undefined },
  supported: readonly string[] = [OFFLINE_ACCESS],
): Record<string, string> {
  if (!offline || options[OFFLINE] === 'no') return { scope };
  if (options[OFFLINE] === 'access_type') {
    return { scope, access_type: 'offline', ...consentOf(prompt, staticParams(options)['prompt']) };
  }
  const isRequested = scope.split(' ').includes(OFFLINE_ACCESS) || !supported.includes(OFFLINE_ACCESS);
  return { scope: isRequested ? scope : `${scope} ${OFFLINE_ACCESS}` };
}

const OFFLINE_ACCESS = 'offline_access'; // OpenID Connect Core §11

/** Google sends a refresh token only with the consent. The operator's own `prompt` stays as it is. */
function consentOf(prompt: string | undefined, fixed: string | undefined): { prompt?: string } {
  if (prompt === undefined) return fixed === undefined ? { prompt: 'consent' } : {};
  return { prompt: /\b(?:none|consent)\b/.test(prompt) ? prompt : `${prompt} consent` };
}
