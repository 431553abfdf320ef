import { isIPv6 } from 'node:net';
import { isQuoted } from './invalid-settings.js';
import { isThisMachine } from './loopback.js';
import { defaultsToOn } from './parse-provider.js';
import { SAMPLE_PROVIDER } from './enabled-providers.js';
import { isOpenId } from './provider-adapters.js';
import { adapterKeys, providerKeys } from './provider-keys.js';
import { isProviderVariable, type ProviderVariables } from './provider-variables.js';
import type { Environment } from './setting-row.js';
import { settingsTable } from './settings-table.js';
import type { Values } from './settings.js';
import { traceWarnings } from './traces.js';
import { unknownVariables } from './unknown-variables.js';

/** Settings that are accepted, but may be mistakes; one sentence each, for the log at start. No values, so no secrets. */
export function warningsFor(
  env: Environment,
  values: Values,
  providers: ReadonlyMap<string, ProviderVariables>,
  createdKeyFile: string | undefined,
): readonly string[] {
  const warnings: string[] = [];
  if (createdKeyFile !== undefined) {
    warnings.push(`SECRET_KEY is unset: a new key was generated into ${createdKeyFile}; keep that file.`);
  }
  if (values.redirectUris === undefined) {
    warnings.push('REDIRECT_URIS is unset: any absolute http(s) URL is accepted as a redirect URI.');
  }
  if (values.publicUrl === undefined && (values.nodeEnv === 'production' || !isAtLocalhost(values.host))) {
    warnings.push('PUBLIC_URL is unset: the service presents itself as localhost.');
  }
  return [
    ...warnings,
    ...[...providers].flatMap(([name, given]) => [
      ...providerWarning(name, given),
      ...injectionWarning(name, given),
    ]),
    ...withAsterisk(env, providers).map(
      (variable) =>
        `${variable} has an entry with *: entries are compared as they are, so * stands for itself.`,
    ),
    ...quotedSettings(env),
    ...unknownVariables(env, providers),
    ...traceWarnings(env),
  ];
}

/** Whether a service that listens at `host` is found at `localhost`. */
function isAtLocalhost(host: string): boolean {
  return isThisMachine(`http://${isIPv6(host) ? `[${host}]` : host}`);
}

const KEYS = [...Object.values(providerKeys), ...Object.values(adapterKeys)].map(({ name }) => name);
/** The keys that the built-in sample provider uses. */
const KEYS_OF_SAMPLE = ['enabled', 'redirect_uris', 'issuer', 'mode', 'label', 'pkce'];

/** Warns where something is given for a provider, but not the key that would enable it. */
function providerWarning(name: string, given: ProviderVariables): readonly string[] {
  const isSample = name === SAMPLE_PROVIDER;
  const missing = isSample ? 'url' : defaultsToOn(given);
  if (given.has(missing) || given.has('enabled')) return [];
  if (!KEYS.some((key) => given.has(key) && !(isSample && KEYS_OF_SAMPLE.includes(key)))) return [];
  const is = isSample ? 'the built-in sample provider, with credentials of its own' : 'off';
  return [`Provider ${name} has no ${missing}: it is ${is}.`];
}

/** Without both, a code that was stolen elsewhere signs its thief in (RFC 9700 §4.5). */
function injectionWarning(name: string, given: ProviderVariables): readonly string[] {
  const [adapter, enabled, pkce, nonce] = ['adapter', 'enabled', 'pkce', 'nonce'].map((key) =>
    given.get(key),
  );
  const isOff = pkce?.text === 'off' && nonce?.text === 'off';
  if (!isOff || !isOpenId(adapter?.text ?? '') || enabled?.text === 'false') return [];
  return [
    `Provider ${name} has neither pkce nor nonce, so a stolen code of it signs the thief in as its user; set ${pkce.variable} or ${nonce.variable} to on.`,
  ];
}

/** `.env` takes quotation marks off; `docker --env-file` and other lists of variables keep them. */
function quotedSettings(env: Environment): readonly string[] {
  const names = new Set<string>(Object.values(settingsTable).map(({ name }) => name));
  return Object.entries(env).flatMap(([variable, text = '']) =>
    isQuoted(text) && (names.has(variable) || isProviderVariable(variable))
      ? [
          `${variable} begins and ends with a quotation mark, which is part of the value. If it is not meant, remove both marks.`,
        ]
      : [],
  );
}

/** The allow-lists of redirect URIs that were written as patterns. */
function withAsterisk(
  env: Environment,
  providers: ReadonlyMap<string, ProviderVariables>,
): readonly string[] {
  const { name } = settingsTable.redirectUris;
  const own = [...providers.values()].map((given) => given.get(providerKeys.redirectUris.name));
  return [{ variable: name, text: env[name] }, ...own].flatMap((list) =>
    list?.text?.includes('*') ? [list.variable] : [],
  );
}
