import { ADAPTERS } from '../../platform/config/providers/provider-keys.js';
import { siblingVariable } from '../../platform/config/providers/provider-variables.js';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import { printable } from '../../platform/errors/printable.js';
import { usesPkce } from '../adapters/authorization-request.js';
import { isProviderCode } from './callback-codes.js';
import { findCall, type ProviderCall } from '../transport/provider-answer.js';

/** Characters of an error message; of a text of the provider. */
const MAX_MESSAGE = 400;
const MAX_TEXT = 200;
const MAX_READ = 10_000;
/**
 * Shorter secrets are masked as whole words only, or else "e" would turn "cannot be loaded" into "cannot b***
 * load***d".
 */
const MIN_MASKED_ANYWHERE = 8;

const CREDENTIALS = new Set<unknown>(['invalid_client', 'unauthorized_client']);

/**
 * Describes an error that a provider caused.
 * @param secrets values that the provider may repeat: code, verifier
 */
export function refusalLine(
  error: unknown,
  provider: ProviderSettings,
  secrets: readonly string[] = [],
): string {
  const call = findCall(error);
  const { error: code } = (error ?? {}) as { error?: unknown };
  const from = call ? ` from ${call.url}` : '';
  const keys = call?.settings ?? settingsFor(code ?? call?.error, call, provider);
  const variables = keys.map((key) => siblingVariable(provider.variables.adapter, key));
  const look = variables.length > 0 ? `; look at ${variables.join(', ')}` : '';
  const advice = pkceAdvice(code ?? call?.error, provider) + plusAdvice(secrets);
  return ownWords(error, provider, secrets) + from + look + advice;
}

/** A `+` in a query is a space (docs/errors.md#signing-in-fails-at-the-provider). */
function plusAdvice(secrets: readonly string[]): string {
  if (!secrets.some((secret) => secret.includes(' '))) return '';
  return '; the code arrived with a space: the provider must percent-encode a + in codes (%2B)';
}

/**
 * LinkedIn refuses a `code_verifier` as `invalid_client` (docs/errors.md#signing-in-fails-at-the-provider).
 */
function pkceAdvice(code: unknown, { adapter, options, variables }: ProviderSettings): string {
  const isUsed = ADAPTERS.has(adapter) && usesPkce(options, adapter === 'contract' ? 'off' : 'on');
  if (!isUsed || !CREDENTIALS.has(code)) return '';
  return `; a provider that refuses code_verifier needs pkce=off (${siblingVariable(variables.adapter, 'pkce')})`;
}

/**
 * Returns the provider's own words, or the failure, and the HTTP status.
 * @param secrets as for `refusalLine`
 */
export function ownWords(
  error: unknown,
  provider: Pick<ProviderSettings, 'clientSecret'>,
  secrets: readonly string[],
): string {
  const call = findCall(error);
  const words = wordsOf(call?.error, call?.description, [provider.clientSecret, ...secrets]);
  const reason = words || oneLine(error, provider);
  return call?.status === undefined ? reason : `${reason}, HTTP ${call.status}`;
}

/**
 * Returns a provider's `error` with its `error_description`; an empty text without an error.
 * @param secrets as for `refusalLine`
 */
export function wordsOf(error: unknown, description: unknown, secrets: readonly string[]): string {
  const [word, explanation] = [error, description].map((text) => maskedText(text, secrets, MAX_TEXT));
  return word ? word + (explanation && ` (${explanation})`) : '';
}

/** Returns the first line of an error's message, without control characters and without the client secret. */
export function oneLine(error: unknown, { clientSecret }: Pick<ProviderSettings, 'clientSecret'>): string {
  const { message, code } = (error ?? {}) as { message?: unknown; code?: unknown };
  // Of a host with several addresses, the error of a refused connection has a code only.
  const [text = 'unknown error'] = [message || code].filter((one) => typeof one === 'string');
  const [line] = text.split('\n', 1);
  return maskedText(line, [clientSecret], MAX_MESSAGE);
}

/** Settings that may be wrong, by the code of the error or by the URL that was asked. */
function settingsFor(code: unknown, call: ProviderCall | undefined, provider: ProviderSettings): string[] {
  const { adapter, clientKey, options } = provider;
  if (isProviderCode(code)) return [];
  switch (code) {
    case 'invalid_client':
    case 'unauthorized_client': {
      if (clientKey !== undefined) return ['client_id', 'client_key', 'client_assertion_audience'];
      const credentials = ['client_id', 'client_secret'];
      return adapter === 'contract' ? credentials : [...credentials, 'token_endpoint_auth_method'];
    }
    case 'invalid_scope':
      return [adapter === 'contract' ? 'url' : 'scope'];
    case 'redirect_uri_mismatch': // GitHub, Google
    case 'invalid_redirect_uri':
      return ['redirect_uris'];
    case 'invalid_grant':
    case 'invalid_request':
      return ['redirect_uris', 'pkce'];
    default: {
      const urls = ['token_url', 'userinfo_url', 'authorize_url'];
      return [urls.find((key) => call && options[key]?.split('?')[0] === call.url) ?? 'url'];
    }
  }
}

/** Masks secrets in a text of a provider, and makes it printable. Returns an empty text for no value. */
export function maskedText(value: unknown, secrets: readonly string[], max: number): string {
  if (typeof value !== 'string')
    return value === undefined || value === null ? '' : 'an error that is not text';
  const spellings = secrets.flatMap((secret) => [secret, encodeURIComponent(secret.toWellFormed())]);
  return printable(spellings.reduce(masked, value.slice(0, MAX_READ)), max);
}

function masked(line: string, secret: string): string {
  if (secret === '') return line;
  if (secret.length >= MIN_MASKED_ANYWHERE) return line.replaceAll(secret, '***');
  const pattern = secret.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  return line.replace(new RegExp(`(?<![\\p{L}\\p{N}])${pattern}(?![\\p{L}\\p{N}])`, 'gu'), '***');
}
