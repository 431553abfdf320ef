import 'reflect-metadata';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { textOf } from '../../platform/config/providers/allow-rule.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import { directTarget, usualTarget } from '../../platform/database/pool/connection-target.js';
import { dataSourceOptions } from '../../platform/database/pool/data-source.js';
import { checkSettings } from '../../platform/database/pool/session-settings.js';
import { Sql } from '../../platform/database/sql.js';
import { checkDatabase } from '../../platform/database/start/migrate.js';
import { requireNoTables, requireSchema } from '../../platform/database/start/require-usable.js';
import { ENTITIES, entitiesOf, MIGRATIONS } from '../../entities.js';
import { errorReason } from '../../platform/errors/error-facts.js';
import { isHiddenByIpv6, listenFailure, tryToListen } from '../../platform/http/server/listening.js';
import { checkAdapters } from '../../provider/custom/custom-adapters.js';
import { loadProviders } from '../../provider/provider.registry.js';
import { redirectUrisToRegister } from '../../provider/redirect-uris.js';
import { connectRedis } from '../../platform/redis/redis.module.js';
import { FEATURES } from '../../features.js';
import { KeyCipher } from '../../token/keys/key-cipher.js';
import { isUsable } from '../../token/keys/key-life.js';
import { listKeys } from '../../token/keys/key.store.js';
import { CheckReport } from '../../platform/check-report.js';
import { InvalidSettings } from '../../platform/config/settings/invalid-settings.js';
import { loadCommandSettings } from '../../settings.js';

/** Milliseconds. A start waits longer for a database; a person waits for this command. */
const DATABASE_MS = 3000;
const REDIS_MS = 3000;

/** `latchkey check-config`. @returns the exit code: 0 valid, 1 not */
export async function runCheckConfig(): Promise<number> {
  const report = new CheckReport((line) => void process.stdout.write(`${line}\n`));
  try {
    const settings = loadCommandSettings('checked');
    report.add('ok', 'settings', 'valid');
    for (const warning of settings.warnings) report.add('warning', 'settings', warning);
    await checkConfig(settings, report);
  } catch (error) {
    const lines = error instanceof InvalidSettings ? error.errors : [errorReason(error)];
    for (const line of lines) report.add('FAIL', 'settings', line);
  }
  const [errors, warnings] = [report.count('FAIL'), report.count('warning')];
  const counted = `${errors} error${errors === 1 ? '' : 's'}, ${warnings} warning${warnings === 1 ? '' : 's'}`;
  const valid = errors === 0 ? 'Valid' : 'Not valid';
  process.stdout.write(`\n${valid}: ${counted}. Nothing was started or changed.\n`);
  return errors === 0 ? 0 : 1;
}

/** Checks all that a start needs, by its code. @throws InvalidSettings for files that settings name */
export async function checkConfig(settings: Settings, report: CheckReport): Promise<void> {
  Logger.overrideLogger(false); // the report has the findings
  const features = FEATURES.filter((feature) => feature.isOn(settings));
  for (const feature of features) {
    const warnings = (await feature.check?.(settings)) ?? [];
    for (const warning of warnings) report.add('warning', feature.name, warning);
  }
  await checkAdapters(settings, (line) => report.add('warning', 'adapters', line));
  const givesClaims = features.some((feature) => feature.givesClaims?.(settings));
  for (const feature of features) {
    const advice = feature.advise?.(settings, givesClaims);
    if (advice !== undefined) report.add('warning', feature.name, advice);
  }
  await checkAddress(settings, report);
  const parts = { database: checkDatabases, redis: checkRedis, providers: checkProviders };
  for (const [part, check] of Object.entries(parts)) {
    await check(settings, report).catch((error: unknown) => report.add('FAIL', part, errorReason(error)));
  }
}

async function checkAddress(settings: Settings, report: CheckReport): Promise<void> {
  const { publicUrl, host, port, metricsPort } = settings;
  report.add('ok', 'address', `${publicUrl}, listening on port ${port} of ${host}`);
  for (const [variable, number] of Object.entries({ PORT: port, METRICS_PORT: metricsPort })) {
    if (number === undefined) continue;
    const hidden =
      variable === 'PORT' && (await isHiddenByIpv6(settings)) ? { code: 'EADDRINUSE' } : undefined;
    const error: unknown = hidden ?? (await tryToListen(number, host).catch((failure: unknown) => failure));
    if (error === undefined) continue;
    // The program that has the port may be this service.
    const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
    report.add(isTaken ? 'warning' : 'FAIL', 'address', listenFailure(error, variable, number, host).message);
  }
}

async function checkDatabases(settings: Settings, report: CheckReport): Promise<void> {
  const { databaseUrl, dataDir } = settings;
  if (databaseUrl === undefined) {
    const folder = join(dataDir, 'postgres');
    const state = existsSync(folder) ? 'with the data in' : 'and creates it in';
    const seen = `DATABASE_URL is not set: a start runs an embedded PostgreSQL ${state} ${folder}`;
    report.add('ok', 'database', seen);
    return;
  }
  const waits = { timeoutMs: DATABASE_MS, signal: new AbortController().signal, log: () => undefined };
  const { version, pending, lengthy, newer } = await checkDatabase(
    { ...dataSourceOptions(directTarget(settings), 1), migrations: MIGRATIONS },
    waits,
  );
  const options = { ...dataSourceOptions(usualTarget(settings), 1), entities: ENTITIES };
  const dataSource = await new DataSource(options).initialize();
  try {
    const warning = await checkSettings(dataSource);
    if (pending.length === 0) await requireSchema(dataSource);
    else await requireNoTables(dataSource, entitiesOf(pending), pending.length === MIGRATIONS.length);
    const applies =
      pending.length === 0 ? 'the schema is up to date' : `a start applies ${pending.join(', ')}`;
    report.add('ok', 'database', `PostgreSQL ${version}; ${applies}`);
    if (lengthy.length > 0) {
      const how = 'build indexes: on large tables that takes long, and other instances serve meanwhile';
      report.add('warning', 'database', `${lengthy.join(', ')}: ${how} (docs/versions.md)`);
    }
    if (newer.length > 0) {
      const which = `A newer version has migrated it (docs/versions.md): ${newer.join(', ')}`;
      report.add('warning', 'database', which);
    }
    if (warning !== undefined) report.add('warning', 'database', warning);
    if (pending.length === 0) await checkKeys(dataSource, settings, report);
  } finally {
    await dataSource.destroy();
  }
}

/** A start in production refuses keys of another SECRET_KEY (docs/maintenance.md#backup-and-restore). */
async function checkKeys(dataSource: DataSource, { secretKey, production }: Settings, report: CheckReport) {
  const cipher = new KeyCipher(secretKey);
  const keys = (await listKeys(new Sql(dataSource))).filter(isUsable);
  const unreadable = keys.filter((key) => !cipher.canRead(key));
  const [verdict, more] = production
    ? (['FAIL', ''] as const)
    : (['warning', ': a start replaces it'] as const);
  for (const { kid } of unreadable)
    report.add(verdict, 'signing keys', `key ${kid} was stored with another SECRET_KEY${more}`);
  if (unreadable.length > 0) return;
  const readable = keys.length === 0 ? 'a start makes the first one' : `${keys.length} can be decrypted`;
  report.add('ok', 'signing keys', readable);
}

async function checkRedis(settings: Settings, report: CheckReport): Promise<void> {
  const redis = await connectRedis(settings);
  if (!redis) {
    report.add('ok', 'redis', 'REDIS_URL is not set: each instance counts rate limits by itself');
    return;
  }
  try {
    const up = new Promise<void>((resolve) => redis.onUp(resolve));
    await Promise.race([up, delay(REDIS_MS, undefined, { ref: false })]);
    const reason = redis.problem ?? `no answer within ${REDIS_MS / 1000} s`;
    if (redis.isUsable) report.add('ok', 'redis', 'passed the self-test: subscribed, published, received');
    else report.add('FAIL', 'redis', `cannot be used: ${reason}`);
  } finally {
    redis.onApplicationShutdown();
  }
}

async function checkProviders(settings: Settings, report: CheckReport): Promise<void> {
  const { registry, close } = await loadProviders(settings);
  try {
    const all = registry.list();
    if (all.length === 0) report.add('warning', 'providers', 'No provider is enabled, so nobody can sign in');
    for (const provider of all) {
      const rule = textOf(provider.allow);
      const admits = rule === null ? 'everyone may sign in (no allow)' : `allow=${rule}`;
      report.add('ok', 'provider', `${provider.name} (adapter ${provider.adapter}): ${admits}`);
      // its client is this service
      if (provider.isBuiltIn) continue;
      for (const uri of redirectUrisToRegister(settings, provider))
        report.add('register', `  ${provider.name}`, uri);
    }
    await registry.check((line) => report.add('warning', 'provider', line));
  } finally {
    await close();
  }
}
