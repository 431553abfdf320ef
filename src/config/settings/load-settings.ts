import { parse } from 'dotenv';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SettingErrors, fileErrorCode, quote, unreadable } from './invalid-settings.js';
import { parseSettings, type Surroundings } from './parse-settings.js';
import { readSecretFiles, decodeText, readSecretFile } from '../secrets/secret-files.js';
import type { Settings } from './settings.js';
import { secretKey, type SecretKey } from '../secrets/secret-key.js';
import { read, type Environment } from './setting-row.js';

delete process.env['NODE_PG_FORCE_NATIVE']; // pg, which is imported later, would load `pg-native`, which is not installed

const OLD_KEY = 'OLD_SECRET_KEY';

/** Reads the former SECRET_KEY, to re-encrypt the signing keys. @throws InvalidSettings if it is missing or not a key */
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

/**
 * Loads the settings of this process (docs/settings.md#settings): the environment, `.env`, the files of
 * `<NAME>_FILE`, the key in `DATA_DIR`.
 * @throws InvalidSettings with all errors
 */
export function loadSettings(
  env: Environment = process.env,
  cwd: string = process.cwd(),
  keptSecrets: Surroundings['keptSecrets'] = 'generated',
): Settings {
  const errors = new SettingErrors();
  const fromFile = readDotEnv(cwd, errors);
  const { env: variables, secretFiles } = readSecretFiles({ ...fromFile, ...env }, cwd, errors);
  const settings = parseSettings(variables, { cwd, errors, secretFiles, keptSecrets });
  if (!settings.traces || env !== process.env) return settings;
  // OpenTelemetry's SDK reads its variables from the environment.
  for (const [name, value] of Object.entries(fromFile)) {
    if (name.startsWith('OTEL_')) process.env[name] ??= value;
  }
  return settings;
}

/** Loads the settings for a command, which generates no key. @throws as `loadSettings` */
export function loadCommandSettings(keptSecrets: 'checked' | 'existing' | 'none'): Settings {
  return loadSettings(process.env, process.cwd(), keptSecrets);
}

function readDotEnv(cwd: string, errors: SettingErrors): Environment {
  try {
    const text = decodeText(readFileSync(join(cwd, '.env'))).replaceAll(/\r\n?/g, '\n');
    const line = lineOutside(text);
    const problem = `has a line ${line} that is no setting (not shown, it may hold a secret)`;
    if (line > 0) errors.add('.env', problem, 'NAME=value');
    return parse(text);
  } catch (error) {
    if (fileErrorCode(error) !== 'ENOENT') errors.add('.env', unreadable(error), 'a file in UTF-8, or none');
    return {};
  }
}

/** An assignment as dotenv reads it. */
const ASSIGNMENT =
  /^\s*(?:export\s+)?[\w.-]+(?:\s*=\s*?|:\s+?)(?:\s*'(?:\\'|[^'])*'|\s*"(?:\\"|[^"])*"|\s*`(?:\\`|[^`])*`|[^#\r\n]+)?\s*(?:#.*)?$/gm;
/** A comment, or a name alone, which sets nothing. */
const WITHOUT_VALUE = /^\s*(?:#.*|(?:export\s+)?[\w.-]+\s*)?$/;

/** Number of the first line that is neither an assignment nor a comment, or 0. dotenv skips such a line without a word. */
function lineOutside(text: string): number {
  const rest = text.replaceAll(ASSIGNMENT, (assignment) => assignment.replaceAll(/.+/g, ''));
  return rest.split('\n').findIndex((line) => !WITHOUT_VALUE.test(line)) + 1;
}
