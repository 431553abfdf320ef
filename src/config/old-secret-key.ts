import { resolve } from 'node:path';
import { Faults, unreadable } from './invalid-settings.js';
import { readSecretFile } from './read-secret-file.js';
import { secretKey } from './secret-key.js';
import type { SecretKey } from './secret-key.js';
import { read } from './setting-row.js';
import type { Environment } from './setting-row.js';

const NAME = 'OLD_SECRET_KEY';

/**
 * The former SECRET_KEY: `OLD_SECRET_KEY`, or the file that `OLD_SECRET_KEY_FILE` names. It is not a setting of the service:
 * only the command that re-encrypts the signing keys asks for it.
 * @throws InvalidSettings when it is missing or not a key; the value is never shown
 */
export function oldSecretKey(env: Environment = process.env, cwd: string = process.cwd()): SecretKey {
  const faults = new Faults();
  const text = env[NAME] || readFile(env[`${NAME}_FILE`], cwd, faults);
  if (!text) faults.add(NAME, 'was unset', `the former SECRET_KEY, or its file in ${NAME}_FILE`);
  const key = read({ kind: secretKey, secret: true }, NAME, text, faults);
  if (!key) throw faults.error();
  return key;
}

function readFile(path: string | undefined, cwd: string, faults: Faults): string | undefined {
  if (!path) return undefined;
  faults.spelled(NAME, `${NAME}_FILE`);
  try {
    return readSecretFile(resolve(cwd, path)).trim();
  } catch (error) {
    faults.add(NAME, unreadable(path, error), 'the path of a readable file');
    return undefined;
  }
}
