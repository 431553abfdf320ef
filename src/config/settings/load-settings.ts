import { parse } from 'dotenv';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { SettingErrors, fileErrorCode, quote, unreadable } from './invalid-settings.js';
import {
  existingSecret,
  exposureOfDataDir,
  KEPT_FILES,
  keptSecret,
  type KeptSecret,
} from '../secrets/kept-secret.js';
import { Refused, type Parser } from './parsers.js';
import { parseSettings, type Surroundings } from './parse-settings.js';
import { readSecretFiles, decodeText, readSecretFile } from '../secrets/secret-files.js';
import type { Settings } from './settings.js';
import { secretKey, type SecretKey } from '../secrets/secret-key.js';
import { read, type Environment } from './setting-row.js';

delete process.env['NODE_PG_FORCE_NATIVE']; // pg, which is imported later, would load `pg-native`, which is not installed

const OLD_KEY = 'OLD_SECRET_KEY';

/**
 * Reads the former SECRET_KEY (`OLD_SECRET_KEY` or `OLD_SECRET_KEY_FILE`) for the command that re-encrypts the signing keys.
 * @throws InvalidSettings if it is missing or not a key; without the value
 */
export function oldSecretKey(env: Environment = process.env, cwd: string = process.cwd()): SecretKey {
  const errors = new SettingErrors();
  const text = env[OLD_KEY] || readFile(env[`${OLD_KEY}_FILE`], cwd, errors);
  if (!text) errors.add(OLD_KEY, 'is not set', `the former SECRET_KEY, or its file in ${OLD_KEY}_FILE`);
  const key = read({ parser: secretKey, secret: true }, OLD_KEY, text, errors);
  if (!key) throw errors.error();
  return key;
}

function readFile(path: string | undefined, cwd: string, errors: SettingErrors): string | undefined {
  if (!path) return undefined;
  errors.spelled(OLD_KEY, `${OLD_KEY}_FILE`);
  try {
    return readSecretFile(resolve(cwd, path)).trim();
  } catch (error) {
    errors.add(OLD_KEY, unreadable(error), 'the path of a readable file', quote(path));
    return undefined;
  }
}

/**
 * Loads the settings of this process (contract §2): the environment, `.env`, the files of `<NAME>_FILE`, the key in `DATA_DIR`.
 *
 * @param env overrides `.env`, also with an empty variable
 * @param cwd directory of `.env` and of relative paths
 * @throws InvalidSettings with all errors
 */
export function loadSettings(env: Environment = process.env, cwd: string = process.cwd()): Settings {
  const settings = load(env, cwd, {
    keptSecret: (dataDir, setting, parser) => keep(dataDir, setting, parser, keptSecret),
    exposureOfDataDir,
  });
  if (settings.traces && env === process.env) passOnToOpenTelemetry(cwd);
  return settings;
}

/** Copies OpenTelemetry's variables from `.env` to the environment, from which its SDK reads them. */
function passOnToOpenTelemetry(cwd: string): void {
  for (const [name, value] of Object.entries(readDotEnv(cwd, new SettingErrors()))) {
    if (name.startsWith('OTEL_')) process.env[name] ??= value;
  }
}

/**
 * Loads the settings for a command, which reads the key in `DATA_DIR` but never generates it.
 * @param needsKey false: an unset `secretKey` is random, and no file is read
 */
export function loadCommandSettings(
  needsKey: boolean,
  env: Environment = process.env,
  cwd: string = process.cwd(),
): Settings {
  const existing: Surroundings['keptSecret'] = (dataDir, setting, parser) =>
    setting === 'SECRET_KEY' ? keep(dataDir, setting, parser, existingSecret) : undefined;
  return load(env, cwd, needsKey ? { keptSecret: existing } : {});
}

function load(
  env: Environment,
  cwd: string,
  files: Pick<Surroundings, 'keptSecret' | 'exposureOfDataDir'>,
): Settings {
  const errors = new SettingErrors();
  const { env: variables, secretFiles } = readSecretFiles(
    { ...readDotEnv(cwd, errors), ...env },
    cwd,
    errors,
  );
  return parseSettings(variables, { cwd, errors, secretFiles, ...files });
}

function readDotEnv(cwd: string, errors: SettingErrors): Environment {
  try {
    const text = decodeText(readFileSync(join(cwd, '.env'))).replaceAll(/\r\n?/g, '\n');
    const line = lineOutside(text);
    if (line)
      errors.add(
        '.env',
        `has a line ${line} that is no setting (not shown, it may hold a secret)`,
        'NAME=value',
      );
    return parse(text);
  } catch (error) {
    const code = fileErrorCode(error);
    if (code !== 'ENOENT') errors.add('.env', `cannot be read (${code})`, 'a file in UTF-8, or none');
    return {};
  }
}

/** An assignment as dotenv reads it. */
const ASSIGNMENT =
  /^\s*(?:export\s+)?[\w.-]+(?:\s*=\s*?|:\s+?)(?:\s*'(?:\\'|[^'])*'|\s*"(?:\\"|[^"])*"|\s*`(?:\\`|[^`])*`|[^#\r\n]+)?\s*(?:#.*)?$/gm;
/** A comment, or a name alone, which sets nothing. */
const WITHOUT_VALUE = /^\s*(?:#.*|(?:export\s+)?[\w.-]+\s*)?$/;

/**
 * Returns the number of the first line that is neither an assignment nor a comment (`set NAME=value`, or UTF-8 in a file of
 * UTF-16), or 0. dotenv skips such a line without a word.
 */
function lineOutside(text: string): number {
  const rest = text.replaceAll(ASSIGNMENT, (assignment) => assignment.replaceAll(/.+/g, ''));
  return rest.split('\n').findIndex((line) => !WITHOUT_VALUE.test(line)) + 1;
}

function keep<T>(
  dataDir: string,
  setting: keyof typeof KEPT_FILES,
  parser: Parser<T>,
  from: (dataDir: string, file: string, parser: Parser<T>) => KeptSecret<T>,
): KeptSecret<T> {
  try {
    return from(dataDir, KEPT_FILES[setting], parser);
  } catch (error) {
    const file = join(dataDir, KEPT_FILES[setting]);
    const problem =
      error instanceof Refused
        ? (error.problem ?? 'holds no key')
        : `cannot be used (${fileErrorCode(error)})`;
    const errors = new SettingErrors();
    errors.add(
      setting,
      `is not set, and the generated one in ${file} ${problem}`,
      'a value, or another DATA_DIR',
    );
    throw errors.error();
  }
}
