import { resolve } from 'node:path';
import { readDotEnv } from './dot-env.js';
import { SettingErrors, quote, unreadable } from './invalid-settings.js';
import { parseSettings, type Surroundings } from './parse-settings.js';
import type { SettingTables } from './settings-part.js';
import { readSecretFiles, readSecretFile } from '../secrets/secret-files.js';
import type { Settings } from './settings.js';
import { secretKey, type SecretKey } from '../secrets/secret-key.js';
import { read, type Environment } from './setting-row.js';

// pg, which is imported later, would load `pg-native`, which is not installed
delete process.env['NODE_PG_FORCE_NATIVE'];

const OLD_KEY = 'OLD_SECRET_KEY';

/** Reads the former SECRET_KEY, to re-encrypt the signing keys. @throws InvalidSettings without such a key */
export function oldSecretKey(): SecretKey {
  const errors = new SettingErrors();
  const path = process.env[`${OLD_KEY}_FILE`];
  let text = process.env[OLD_KEY];
  if (!text && path) {
    errors.spelled(OLD_KEY, `${OLD_KEY}_FILE`);
    try {
      text = readSecretFile(resolve(path)).trim();
    } catch (error) {
      errors.add(OLD_KEY, unreadable(error), 'the path of a readable file', quote(path));
    }
  }
  if (!text) errors.add(OLD_KEY, 'is not set', `the former SECRET_KEY, or its file in ${OLD_KEY}_FILE`);
  const key = read({ parser: secretKey, secret: true }, OLD_KEY, text, errors);
  errors.check();
  return key!;
}

/** Loads environment, `.env`, files of `<NAME>_FILE`, key in `DATA_DIR`. @throws InvalidSettings */
export function loadSettings(
  tables: SettingTables,
  env: Environment = process.env,
  cwd: string = process.cwd(),
  generatedSecrets: Surroundings['generatedSecrets'] = 'generated',
): Settings {
  const errors = new SettingErrors();
  const { variables: fromFile, warnings } = readDotEnv(cwd, env, tables, errors);
  const { env: variables, secretFiles } = readSecretFiles({ ...fromFile, ...env }, cwd, tables, errors);
  const parsed = parseSettings(variables, { tables, cwd, errors, secretFiles, generatedSecrets });
  const settings = { ...parsed, warnings: [...parsed.warnings, ...warnings] };
  if (!settings.traces || env !== process.env) return settings;
  // OpenTelemetry's SDK reads its variables from the environment.
  for (const [name, value] of Object.entries(fromFile)) {
    if (name.startsWith('OTEL_')) process.env[name] ??= value;
  }
  return settings;
}
