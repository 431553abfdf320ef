import { resolve } from 'node:path';
import { quote, unreadable } from './invalid-settings.js';
import type { Faults } from './invalid-settings.js';
import { providerKeys } from './provider-keys.js';
import { readSecretFile } from './read-secret-file.js';
import type { Environment, Setting } from './setting-row.js';
import { settingsTable } from './settings-table.js';

/** The file of a secret. */
export interface SecretFile {
  /** Absolute. */
  readonly path: string;
  /** The variable that names it, as it was spelled. */
  readonly variable: string;
}

interface WithSecrets {
  readonly env: Environment;
  /** By the secret's variable (`DATABASE_URL`). */
  readonly secretFiles: ReadonlyMap<string, SecretFile>;
}

/**
 * The environment with each `<NAME>_FILE` of a secret replaced by `<NAME>` and what the file holds,
 * without the line break at its end (contract §2). For providers, in both spellings.
 */
export function readSecretFiles(env: Environment, cwd: string, faults: Faults): WithSecrets {
  const result: Record<string, string | undefined> = { ...env };
  const secretFiles = new Map<string, SecretFile>();
  for (const [variable, path] of Object.entries(env)) {
    const secret = secretOf(variable);
    if (!path || secret === undefined) continue;
    delete result[variable];
    if (env[secret]) {
      faults.add(secret, `and ${variable} are both set`, 'one of the two');
    } else {
      const file = { path: resolve(cwd, path), variable };
      faults.spelled(secret, variable);
      result[secret] = readSecret(secret, file.path, faults);
      secretFiles.set(secret, file);
    }
  }
  return { env: result, secretFiles };
}

/**
 * Content of a file without the line break at its end; undefined if it is blank.
 */
export function textOfSecret(content: string): string | undefined {
  let end = content.length;
  while (content[end - 1] === '\n' || content[end - 1] === '\r') end--; // /[\r\n]+$/ takes seconds for breaks inside
  const text = content.slice(0, end);
  return text.trim() === '' ? undefined : text;
}

function readSecret(secret: string, path: string, faults: Faults): string | undefined {
  try {
    const text = textOfSecret(readSecretFile(path));
    if (text !== undefined) return text;
    faults.add(secret, `${quote(path)}, which is empty`, `the path of a file that holds ${secret}`);
  } catch (error) {
    faults.add(secret, unreadable(path, error), `the path of a readable file that holds ${secret}`);
  }
  return undefined;
}

function secretNames(table: Readonly<Record<string, Setting<unknown>>>): string {
  const secrets = Object.values(table).filter((setting) => setting.secret);
  return `(?:${secrets.map((setting) => setting.name).join('|')})`;
}

const SECRET = secretNames(settingsTable);
const PROVIDER_SECRET = secretNames(providerKeys);
const FILE = new RegExp(
  String.raw`^(?:(${SECRET}|PROVIDERS_[A-Z0-9]+_${PROVIDER_SECRET.toUpperCase()})_FILE|(providers\.[^.]+\.${PROVIDER_SECRET})_file)$`,
);

/** The secret whose file a variable names, or `undefined` if it does not name one. */
function secretOf(variable: string): string | undefined {
  const [, upper, dotted] = FILE.exec(variable) ?? [];
  return upper ?? dotted;
}
