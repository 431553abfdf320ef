import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { Logger } from '@nestjs/common';
import {
  CannotRun,
  land,
  personFor,
  type NamedOptions,
  type Options,
  type Person,
  type SignInOptions,
} from '#check-provider';
import { PRESETS } from '../../platform/config/providers/presets.js';
import { ADAPTERS } from '../../platform/config/providers/provider-keys.js';
import { InvalidSettings } from '../../platform/config/settings/invalid-settings.js';
import type { ProviderSettings, Settings } from '../../platform/config/settings/settings.js';
import { checkAdapters } from '../../provider/custom/custom-adapters.js';
import { allowFacts, checkAllow } from '../../provider/identity/allow.js';
import { findingsOf, type ClaimFinding } from '../../provider/identity/claim-findings.js';
import type { Identity } from '../../provider/identity/identity.js';
import type { Claims } from '../../provider/identity/claims.js';
import { loadProviders } from '../../provider/provider.registry.js';
import type { Provider } from '../../provider/provider.js';
import { redirectUrisToRegister } from '../../provider/redirect-uris.js';
import { loadCommandSettings, parseSettings, SETTING_TABLES } from '../../settings.js';
import { ProviderRefusal } from '../../provider/transport/provider-answer.js';
import { CheckReport, type Finding } from '../../platform/check-report.js';

/** Checks a configured provider (docs/check.md#check-provider-name). @returns the exit code */
export async function checkNamed(options: NamedOptions): Promise<number> {
  const { name } = options;
  const isBuiltIn = SETTING_TABLES.builtIn(name) !== undefined;
  return check(options, name, async () => {
    // its secret follows from SECRET_KEY
    const { providers, ...settings } = loadCommandSettings(isBuiltIn ? 'existing' : 'none');
    const configured = providers.get(name);
    if (!configured) {
      const names = [...providers.keys()].join(', ');
      throw new CannotRun(`no provider ${name} is configured and enabled; there are: ${names || 'none'}`);
    }
    if (options.redirectUri === undefined && PRESETS.get(configured.adapter)?.isHttpsOnly) {
      throw new CannotRun(
        `${configured.adapter} accepts https redirect URIs only: name a registered one with --redirect-uri, and paste the address at which the browser ends`,
      );
    }
    return { ...settings, providers: new Map([[name, configured]]) };
  });
}

/** Checks an issuer of OpenID Connect that is not configured yet. @returns the exit code */
export async function checkIssuer(options: Options): Promise<number> {
  const { providerUrl: url, clientId, clientSecret } = options;
  const keys = { adapter: 'oidc', url, client_id: clientId, client_secret: clientSecret };
  const env = Object.entries(keys).map(([key, value]) => [`providers.issuer.${key}`, value]);
  return check(options, 'issuer', async () =>
    parseSettings({ ...Object.fromEntries(env), PROVIDERS_MOCK_ENABLED: 'false' }),
  );
}

/** @param load returns settings with this provider alone @throws CannotRun without a report */
async function check(options: SignInOptions, name: string, load: () => Promise<Settings>): Promise<number> {
  Logger.overrideLogger(false); // the report has the findings
  const { json } = options;
  const secrets: string[] = [];
  const print = (line: string): void =>
    void (json ? process.stderr : process.stdout).write(`${redacted(line, secrets)}\n`);
  const report = new CheckReport(print);
  const run: Check = { report, print, secrets, redirectUris: [], identity: null, claims: undefined };
  try {
    const settings = await load();
    secrets.push(...[...settings.providers.values()].map(({ clientSecret }) => clientSecret));
    await checkProvider(settings, name, options, run);
  } catch (error) {
    if (!(error instanceof InvalidSettings)) throw error;
    for (const line of error.errors) report.add('FAIL', 'settings', line);
  }
  const ok = report.count('FAIL') === 0;
  if (json) process.stdout.write(`${redacted(jsonReport(name, run), secrets)}\n`);
  else print(ok ? '\nThe sign-in works.' : '\nThe sign-in does not work.');
  return ok ? 0 : 1;
}

interface Check {
  readonly report: CheckReport;
  readonly print: (line: string) => void;
  readonly secrets: string[];
  redirectUris: readonly string[];
  identity: Identity | null;
  /** Undefined: the adapter does not report them. */
  claims: readonly ClaimFinding[] | undefined;
}

async function checkProvider(settings: Settings, name: string, options: SignInOptions, run: Check) {
  const { report, print } = run;
  await checkAdapters(settings, (line) => report.add('warning', 'adapter', line));
  const { registry, close } = await loadProviders(settings);
  try {
    const provider = registry.get(name);
    const { adapter, url } = provider.settings;
    const mine = new RegExp(
      `\\b(?:providers\\.${name}\\.|PROVIDERS_${name.toUpperCase()}_|Provider ${name} )`,
    );
    for (const line of settings.warnings.filter((warning) => mine.test(warning)))
      report.add('warning', 'settings', line);
    const at = url === undefined ? '' : `, ${url}`;
    report.add('ok', 'settings', `provider ${name}, adapter ${adapter}${at}`);
    const before = report.count('FAIL');
    if (ADAPTERS.has(adapter)) await provider.check((line) => report.add('FAIL', 'discovery', line));
    if (report.count('FAIL') > before) return;
    if (adapter === 'oidc') report.add('ok', 'discovery', 'the document can be used');
    run.redirectUris = redirectUrisToRegister(settings, provider.settings);
    if (!provider.settings.isBuiltIn) for (const uri of run.redirectUris) report.add('register', name, uri);
    const person = await personFor(options, 1, print);
    try {
      await signIn(provider, person, run);
    } finally {
      await person.leave();
    }
  } finally {
    await close();
  }
}

async function signIn(provider: Provider, person: Person, run: Check): Promise<void> {
  const { report, secrets } = run;
  const { redirectUri } = person;
  const { settings } = provider;
  const state = randomBytes(32).toString('hex');
  let received: Claims | undefined;
  try {
    if (settings.options['response_mode'] === 'form_post') {
      throw new CannotRun(
        `${settings.name} posts the code (form_post), which neither a loopback callback nor a pasted address can show: sign in at the running service`,
      );
    }
    const { url, memory } = await provider.authorizationUrl({ state, redirectUri });
    secrets.push(state, ...Object.values(memory ?? {}).filter((value) => typeof value === 'string'));
    report.add('register', 'for this check', redirectUri);
    const landing = await land(url, redirectUri);
    const back = landing.kind === 'callback' ? landing.url : (await person.signIn(url)).url;
    const query = new URL(back).searchParams;
    const error = query.get('error');
    if (error !== null) {
      const call = { url: 'the callback', error, description: query.get('error_description') ?? undefined };
      throw new ProviderRefusal(error, 'the callback says', call);
    }
    const code = query.get('code') ?? query.get('ticket'); // CAS
    if (code === null) return report.add('FAIL', 'callback', 'it brought no code');
    secrets.push(code);
    if (query.get('state') !== state) return report.add('FAIL', 'callback', 'it brought another state');
    const iss = query.get('iss');
    const callback = { code, state, redirectUri, ...(memory && { memory }), ...(iss !== null && { iss }) };
    const keep = (answer: Claims): void => void (received = answer);
    const identity = await provider.exchange({ ...callback, received: keep }, true);
    report.add('ok', 'sign-in', 'the provider accepted the code, and its answer has an identity');
    run.identity = identity;
    reportAllow(settings, identity, report);
  } catch (error) {
    if (error instanceof CannotRun) throw error;
    report.add('FAIL', 'sign-in', provider.reasonOf(error, secrets));
  }
  run.claims = received && findingsOf(received, settings, run.identity); // without an identity, too
  if (run.identity || received) describe(run);
}

function reportAllow(settings: ProviderSettings, identity: Identity, report: CheckReport): void {
  if (settings.directoryClaims) {
    report.add('warning', 'directory', 'it was not asked: only the running service asks it');
  }
  if (!settings.allow) return;
  const verdict = checkAllow(settings.allow, allowFacts(identity, settings));
  if (verdict.isAllowed) report.add('ok', 'allow', `this user may sign in, by ${verdict.by}`);
  else report.add('warning', 'allow', `this user may not sign in: no condition holds (${verdict.reason})`);
}

function describe({ report, identity, claims }: Check): void {
  for (const [name, value] of Object.entries(members(identity))) report.add('identity', name, shown(value));
  if (!claims) report.add('warning', 'claims', 'the adapter does not say what the provider sent');
  for (const { name, value, usedAs, dropped } of claims ?? []) {
    const text = value === undefined ? '' : `${shown(value)}: `;
    report.add(dropped === null ? 'kept' : 'dropped', name, text + (dropped ?? `as ${usedAs.join(', ')}`));
  }
}

/** The identity with the names of spec §2.5. */
function members(identity: Identity | null): Readonly<Record<string, unknown>> {
  if (!identity) return {};
  const { providerUserId, username, email, avatarUrl, claims } = identity;
  return { provider_user_id: providerUserId, username, email, avatar_url: avatarUrl, claims };
}

/** JSON on one line, without characters that change a terminal; at most 200 characters. */
function shown(value: unknown): string {
  const text = JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
  return text.length > 200 ? `${text.slice(0, 200).toWellFormed()}…` : text;
}

const VERDICTS: Partial<Record<Finding['verdict'], string>> = { ok: 'pass', warning: 'advice', FAIL: 'fail' };

/** For programs; `results` are as in the report on the contract's rules (docs/provider-contract.md). */
function jsonReport(provider: string, { report, redirectUris, identity, claims }: Check): string {
  const results = report.findings.flatMap(({ verdict, part, seen }) => {
    const known = VERDICTS[verdict];
    if (known === undefined) return [];
    const level = verdict === 'warning' ? 'advice' : 'required';
    return [{ id: part, clause: '', title: part, level, verdict: known, seen, mend: null }];
  });
  const ok = report.count('FAIL') === 0;
  const found = {
    redirect_uris: redirectUris,
    identity: identity && members(identity),
    claims:
      claims?.map(({ name, value, usedAs, dropped }) => ({ name, value, kept: usedAs, dropped })) ?? null,
  };
  return JSON.stringify({ version: 1, provider, ok, results, error: null, ...found }, null, 2);
}

/** Secrets may come back in an answer of the provider. */
function redacted(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length >= 4)
    .flatMap((secret) => [secret, encodeURIComponent(secret)])
    .reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text);
}
