import { hkdfSync } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import express from 'express';
import { Redis } from 'ioredis';
import type { ProviderSettings, Settings } from '../../../src/config/settings.js';
import { clientFor } from '../../../src/database/client.js';
import { addressByTheBook, holds, isMixed, written } from './addresses-reference.js';
import type { Claims } from './claims.js';
import { HEX_MARK, MARK } from './env-cases.js';
import { databaseAddress, redisAddress } from './stores-reference.js';
import { KeyBytes, Trusted } from './values-reference.js';
import { secretOf, type Environment } from './settings-reference.js';

export type Outcome = Settings | readonly string[];

export function isFaults(outcome: Outcome): outcome is readonly string[] {
  return Array.isArray(outcome);
}

/** @throws where the settings, or the lines of the refusal, are not what the book says */
export function mustBeByTheBook(outcome: Outcome, claims: Claims): void {
  if (isFaults(outcome)) return mustNameTheFaults(outcome, claims);
  const missed = claims.faults[0];
  if (missed) throw new Error(`${missed.join(' or ')} is not refused`);
  for (const [setting, is] of claims.settings) {
    const found: unknown = outcome[setting as keyof Settings];
    if (!isSame(found, is)) throw new Error(`${setting} is ${shown(found)}, and by the book ${shown(is)}`);
  }
  for (const variable of claims.warnings)
    if (!outcome.warnings.some((one) => one.startsWith(`${variable} `)))
      throw new Error(`no warning of ${variable}`);
  mustBeTakenByClients(outcome, claims);
}

function mustNameTheFaults(lines: readonly string[], { faults, doubts }: Claims): void {
  const names = lines.map((one) => one.slice(0, one.indexOf(': ')));
  const missed = faults.find((variables) => !variables.some((one) => names.includes(one)));
  if (missed) throw new Error(`${missed.join(' or ')} is not named`);
  const strange = names.findIndex((one) => !doubts.has(one) && !faults.flat().includes(one));
  if (strange >= 0) throw new Error(`by the book there is nothing wrong with: ${lines[strange]}`);
  if (new Set(names).size !== names.length) throw new Error('a variable is named twice');
}

/** What the settings are for is what Express, pg and ioredis make of them. */
function mustBeTakenByClients(settings: Settings, claims: Claims): void {
  if (settings.trustProxy !== undefined) express().set('trust proxy', settings.trustProxy);
  for (const setting of ['databaseUrl', 'databaseDirectUrl'] as const) {
    const url = settings[setting];
    if (url === undefined) continue;
    const client = new (clientFor(() => url))(); // throws what the start would end with
    if (!claims.isSure(setting)) continue;
    const { host, port, user, password, database } = client;
    mustBeSame(setting, { host, port, user, password, database }, databaseAddress(url));
  }
  if (typeof settings.redisUrl !== 'string') return;
  const redis = new Redis(settings.redisUrl, { lazyConnect: true });
  const { host, port, username, password, db } = redis.options;
  redis.disconnect();
  if (claims.isSure('redisUrl'))
    mustBeSame(
      'redisUrl',
      {
        host,
        port: Number(port),
        username: username || undefined,
        password: password || undefined,
        db: Number(db),
      },
      redisAddress(settings.redisUrl),
    );
}

type Address = Readonly<Record<string, unknown>>;

/** Of all that is expected. An address has many spellings, and a host upper and lower case (RFC 3986 §3.2.2). */
function mustBeSame(setting: string, found: Address, expected: Address): void {
  const wanted = Object.keys(expected).map((key) => [key, found[key]] as const);
  const [one, other] = [Object.fromEntries(wanted), expected].map((address) => ({
    ...address,
    host: addressByTheBook(String(address['host'])) ?? String(address['host']).toLowerCase(),
  }));
  if (!isDeepStrictEqual(one, other))
    throw new Error(`${setting} leads to ${shown(found)}, and by the book to ${shown(expected)}`);
}

function isSame(found: unknown, is: unknown): boolean {
  if (is instanceof KeyBytes) {
    const derived = Buffer.from(hkdfSync('sha256', is.bytes, '', 'latchkey a-use', 32));
    return derived.equals((found as Settings['secretKey']).derive('a-use'));
  }
  if (is instanceof Trusted) return trustsTheSame(found, is);
  if (found instanceof Map && is instanceof Map) {
    const providers = [...(found as Settings['providers'])].map(([name, provider]) => [
      name,
      withoutSpellings(provider),
    ]);
    return isDeepStrictEqual(new Map(providers as [string, object][]), is);
  }
  if (typeof found === 'object' && found !== null && 'provider' in found)
    return isDeepStrictEqual(
      { ...found, provider: withoutSpellings(found.provider as ProviderSettings) },
      is,
    );
  return isDeepStrictEqual(found, is);
}

function withoutSpellings({
  variables: _variables,
  clientSecretFile: _file,
  ...provider
}: ProviderSettings): object {
  return provider;
}

/** Asked for addresses inside and just outside of each network, and for some others. */
function trustsTheSame(found: unknown, { networks }: Trusted): boolean {
  const app = express();
  app.set('trust proxy', found);
  const isTrusted = app.get('trust proxy fn') as (address: string, hop: number) => boolean;
  if (!networks || networks.some(isMixed)) return true;
  const probes = networks.flatMap(({ address, prefix }) => [
    address,
    address ^ 1n,
    address ^ (1n << BigInt(128 - prefix)),
  ]);
  return [...probes, 0xffff08080808n, 1n, 0xffff7f000001n, 0xffff0a010203n].every(
    (address) => isTrusted(written(address), 0) === networks.some((network) => holds(network, address)),
  );
}

function shown(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) =>
    typeof one === 'bigint'
      ? one.toString(16)
      : one instanceof Map
        ? [...(one as Map<unknown, unknown>)]
        : one,
  );
}

/**
 * No line shows what a secret variable holds, nor what stands before an `@`, where URLs have their passwords.
 * A mark may be shown in two cases alone: it is in a variable's name, or in the value of a variable that is no secret, behind its last `@`.
 */
export function mustShowNoSecret(outcome: Outcome, env: Environment): void {
  for (const one of isFaults(outcome) ? outcome : outcome.warnings) {
    if (/[\n\r]/.test(one)) throw new Error(`not one line: ${one}`);
    // oxlint-disable-next-line no-control-regex -- none may be in a line
    if (isFaults(outcome) && !/^[^\u0000-\u001f]+: [^\u0000-\u001f]+; accepted: [^\u0000-\u001f]+$/.test(one))
      throw new Error(`not one line: ${one}`);
    const marks = [MARK, HEX_MARK].filter((mark) => one.includes(mark));
    if (marks.some((mark) => !mayShow(one, mark, env))) throw new Error(`a secret is printed: ${one}`);
  }
}

function mayShow(text: string, mark: string, env: Environment): boolean {
  if (Object.keys(env).some((variable) => variable.includes(mark) && text.includes(variable))) return true;
  const variable = text.slice(0, text.indexOf(': '));
  const found = secretOf(variable);
  const value = env[variable] ?? '';
  return (!found || found.isFile) && value.slice(value.lastIndexOf('@') + 1).includes(mark);
}
