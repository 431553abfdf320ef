import { siblingVariable } from '../config/providers/provider-variables.js';
import type { ProviderSettings } from '../config/settings/settings.js';
import { masked, oneLine } from './custom/check-adapter.js';
import { askedOf, type Asked } from './transport/provider-answer.js';

/** Of what a provider wrote. */
const LONGEST = 200;

/**
 * What the log says of an error that a provider caused (contract §6): the provider's own words or what failed, the HTTP status,
 * the URL, and the settings to look at.
 *
 * @param secrets texts that must not be logged although the provider may repeat them: the code, the verifier
 * @returns one line without control characters
 */
export function refusalLine(
  error: unknown,
  provider: ProviderSettings,
  secrets: readonly (string | undefined)[] = [],
): string {
  const asked = askedOf(error);
  const { error: code } = (error ?? {}) as { error?: unknown };
  const words = [asked?.error, asked?.description].map((text) =>
    clean(text, [provider.clientSecret, ...secrets]),
  );
  const said = words[0] ? words[0] + (words[1] && ` (${words[1]})`) : oneLine(error, provider);
  const status = asked?.status === undefined ? '' : `, HTTP ${asked.status}`;
  const from = asked ? `${status} from ${asked.url}` : '';
  const variables = settingsFor(code ?? asked?.error, asked, provider).map((key) =>
    siblingVariable(provider.variables.adapter, key),
  );
  return `${said}${from}; look at ${variables.join(', ')}`;
}

/** The settings that may be wrong, by the code of the error, or by the URL that was asked. */
function settingsFor(
  code: unknown,
  asked: Asked | undefined,
  { adapter, options }: ProviderSettings,
): string[] {
  switch (code) {
    case 'invalid_client':
    case 'unauthorized_client':
      return [
        'client_id',
        'client_secret',
        ...(adapter === 'contract' ? [] : ['token_endpoint_auth_method']),
      ];
    case 'invalid_scope':
      return ['scope'];
    case 'invalid_grant':
    case 'invalid_request':
      return ['redirect_uris', 'pkce'];
    default: {
      const isAsked = (key: string): boolean =>
        asked !== undefined && options[key]?.split('?')[0] === asked.url;
      return [['token_url', 'userinfo_url', 'authorize_url'].find(isAsked) ?? 'url'];
    }
  }
}

/** Text of a provider without what could be secret or would change a terminal; empty for what is no text. */
function clean(text: unknown, secrets: readonly (string | undefined)[]): string {
  if (typeof text !== 'string') return text === undefined || text === null ? '' : 'an error that is no text';
  const spellings = secrets
    .filter((secret) => secret !== undefined)
    .flatMap((secret) => [secret, encodeURIComponent(secret.toWellFormed())]);
  return spellings
    .reduce(masked, text.slice(0, 10_000))
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, LONGEST)
    .toWellFormed();
}
