import { parse } from 'dotenv';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isProviderVariable } from '../providers/provider-variables.js';
import { decodeText } from '../secrets/secret-files.js';
import { SettingErrors, fileErrorCode, unreadable } from './invalid-settings.js';
import type { Environment } from './setting-row.js';
import type { SettingTables } from './settings-part.js';

interface DotEnv {
  readonly variables: Environment;
  /** One sentence for each setting that dotenv reads in another way than it looks; without values. */
  readonly warnings: readonly string[];
}

/** Reads `.env`, if there is one. @param env replaces its variables, so these get no warning */
export function readDotEnv(
  cwd: string,
  env: Environment,
  tables: SettingTables,
  errors: SettingErrors,
): DotEnv {
  try {
    const text = decodeText(readFileSync(join(cwd, '.env'))).replaceAll(/\r\n?/g, '\n');
    const line = lineOutside(text);
    const problem = `has a line ${line} that is no setting (not shown, it may hold a secret)`;
    if (line > 0) errors.add('.env', problem, 'NAME=value');
    return { variables: parse(text), warnings: warningsAbout(text, env, tables) };
  } catch (error) {
    if (fileErrorCode(error) !== 'ENOENT') errors.add('.env', unreadable(error), 'a file in UTF-8, or none');
    return { variables: {}, warnings: [] };
  }
}

/** An assignment as dotenv reads it. */
const ASSIGNMENT =
  /^\s*(?:export\s+)?([\w.-]+)(?:\s*=\s*?|:\s+?)(\s*'(?:\\'|[^'])*'|\s*"(?:\\"|[^"])*"|\s*`(?:\\`|[^`])*`|[^#\r\n]+)?(\s*(?:#.*)?)$/gm;
/** A comment, or a name alone, which sets nothing. */
const WITHOUT_VALUE = /^\s*(?:#.*|(?:export\s+)?[\w.-]+\s*)?$/;
/** A line in a quoted value that is meant as an assignment; in a PEM, `=` ends the text. */
const SWALLOWED = /\n\s*(?:export\s+)?(?:[A-Z][A-Z0-9_]*|providers\.[\w.-]+)\s*=[^=\n]/;

/** Number of the first line that is neither assignment nor comment, or 0: dotenv skips it silently. */
function lineOutside(text: string): number {
  const rest = text.replaceAll(ASSIGNMENT, (assignment) => assignment.replaceAll(/.+/g, ''));
  return rest.split('\n').findIndex((line) => !WITHOUT_VALUE.test(line)) + 1;
}

function warningsAbout(text: string, env: Environment, { variables }: SettingTables): string[] {
  const seen = new Map<string, string | undefined>();
  return [...text.matchAll(ASSIGNMENT)].flatMap(([assignment, name = '', value = '', rest = '']) => {
    const isSetting = variables.includes(name) || isProviderVariable(name);
    if (!isSetting || env[name] !== undefined) return [];
    const parsed = parse(assignment)[name];
    const isRepeated = seen.has(name) && seen.get(name) !== parsed;
    seen.set(name, parsed);
    const found = [...faultsOf(value, rest), ...(isRepeated ? ['is set twice: the last value counts'] : [])];
    return found.map((fault) => `${name} in .env ${fault}.`);
  });
}

/** @param rest what follows the value in its line */
function faultsOf(value: string, rest: string): string[] {
  const text = value.trim();
  const isQuoted = text.length > 1 && /^(['"`])[^]*\1$/.test(text);
  const faults: string[] = [];
  if (rest.startsWith('#') && !/\s$/.test(value)) {
    faults.push(
      'is cut at #, which begins a comment. If # belongs to the value, put the value in quotation marks',
    );
  }
  if (!isQuoted && /^['"`]/.test(text)) {
    faults.push('begins with a quotation mark that is not closed. The mark is part of the value');
  }
  if (isQuoted && SWALLOWED.test(text)) {
    faults.push('has a value of several lines that contains another setting. Close its quotation mark');
  }
  if (!text.startsWith("'") && /\$\{\w+\}/.test(text)) {
    faults.push('names another variable, which is not replaced: the text is the value');
  }
  return faults;
}
