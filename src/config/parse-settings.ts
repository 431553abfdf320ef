import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { Faults, quote } from './invalid-settings.js';
import type { KeptSecretKey } from './kept-secret-key.js';
import { applyDatabaseRules } from './database-rules.js';
import { enabledProviders } from './enabled-providers.js';
import { applyPortRules } from './port-rules.js';
import { applyProductionRules } from './production-rules.js';
import { providerVariables } from './provider-variables.js';
import type { SecretFile } from './secret-files.js';
import { SecretKey } from './secret-key.js';
import { read } from './setting-row.js';
import type { Environment, Setting } from './setting-row.js';
import type { Settings, Values } from './settings.js';
import { settingsTable } from './settings-table.js';
import { wantsTraces } from './traces.js';
import { warningsFor } from './warnings.js';

/** What the parser takes from outside; each part can be replaced. */
export interface Surroundings {
  /** Relative paths begin here. */
  readonly cwd?: string;
  /** The key to use where `SECRET_KEY` is unset outside production; by default a new one, kept nowhere. */
  readonly keptSecretKey?: (dataDir: string) => KeptSecretKey;
  /** Why other accounts can replace what is in `DATA_DIR`; see kept-secret-key.ts. */
  readonly exposureOfDataDir?: (dataDir: string) => string | undefined;
  /** The files that secrets of the environment were read from, by variable. */
  readonly secretFiles?: ReadonlyMap<string, SecretFile>;
  /** Faults that are known already. */
  readonly faults?: Faults;
}

const CLOSED_DIRECTORY =
  'a directory of this account or of root, to which no other account may write (chown, chmod go-w)';

/**
 * Settings from an environment, without reading any file: no `.env`, no `<NAME>_FILE`.
 *
 * @param env e.g. `{ PORT: '4000' }`; settings that are left out or empty have their defaults
 * @throws InvalidSettings with all faults
 */
export function parseSettings(env: Environment, surroundings: Surroundings = {}): Settings {
  const { cwd = process.cwd(), keptSecretKey = newSecretKey, faults = new Faults() } = surroundings;
  const { exposureOfDataDir = () => undefined } = surroundings;
  const { secretFiles = new Map<string, SecretFile>() } = surroundings;
  const values = readValues(env, faults);
  const production = values.nodeEnv === 'production';
  const given = providerVariables(env, faults);
  const providers = enabledProviders(given, { production, cwd, secretFiles }, faults);
  applyDatabaseRules(values, faults);
  applyPortRules(values, faults);
  if (production) applyProductionRules(values, env, faults);
  const dataDir = resolve(cwd, values.dataDir);
  const exposed = values.databaseUrl && values.secretKey ? undefined : exposureOfDataDir(dataDir);
  if (exposed !== undefined && production) {
    faults.add('DATA_DIR', `${quote(dataDir)}, which ${exposed}`, CLOSED_DIRECTORY);
  }
  faults.check(); // before a key is generated: a refused start leaves nothing behind

  const kept: KeptSecretKey = values.secretKey ? { key: values.secretKey } : keptSecretKey(dataDir);
  const { nodeEnv: _, ...asRead } = values;
  return {
    ...asRead,
    production,
    publicUrl: values.publicUrl ?? `http://localhost:${values.port}`,
    databaseDirectUrl: values.databaseDirectUrl ?? values.databaseUrl,
    dataDir,
    secretKey: kept.key,
    serviceKeys: values.serviceKeys ?? [],
    secretFiles,
    ...providers,
    traces: wantsTraces(env),
    warnings: [
      ...(exposed === undefined ? [] : [`DATA_DIR ${exposed}; production accepts ${CLOSED_DIRECTORY}.`]),
      ...(kept.warning === undefined ? [] : [kept.warning]),
      ...warningsFor(env, values, given, kept.created),
    ],
  };
}

/** Reads every setting of the table. One that is at fault gets its default, so that the others can be judged. */
function readValues(env: Environment, faults: Faults): Values {
  const production = env[settingsTable.nodeEnv.name] === 'production';
  const values = Object.entries(settingsTable).map(([key, setting]: [string, Setting<unknown>]) => [
    key,
    read(setting, setting.name, env[setting.name], faults) ?? defaultOf(setting, production),
  ]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one entry for each row, of its kind's type
  return Object.fromEntries(values) as Values;
}

function defaultOf(setting: Setting<unknown>, production: boolean): unknown {
  const text = (production ? setting.productionDefault : undefined) ?? setting.default;
  return text === undefined ? undefined : setting.kind.parse(text);
}

function newSecretKey(): KeptSecretKey {
  return { key: new SecretKey(randomBytes(32)) };
}
