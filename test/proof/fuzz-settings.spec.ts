import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'dotenv';
import { loadCommandSettings } from '../../src/config/load-settings.js';
import type { Settings } from '../../src/config/settings.js';
import { envCases, FILES, type EnvCase } from './fuzz/env-cases.js';
import { fuzz, type Verdict } from './fuzz/fuzz.js';
import { mutatedBytes } from './fuzz/mutate.js';
import type { Random } from './fuzz/random.js';
import { isFaults, mustBeByTheBook, mustShowNoSecret, type Outcome } from './fuzz/settings-judge.js';
import { settingsByTheBook, type Environment } from './fuzz/settings-reference.js';

/** Settings, or the lines of the refusal. @throws where the start would end with anything else */
function outcome(make: () => Settings): Outcome {
  try {
    return make();
  } catch (error) {
    const { name, faults } = error as Error & { faults?: readonly string[] };
    if (name !== 'InvalidSettings' || !faults?.length) throw error;
    return faults;
  }
}

/** Without what is made anew each time. */
const comparable = ({ secretKey: _key, ...settings }: Settings): object => settings;

describe('settings', () => {
  let cwd: string;
  let files: Record<string, string>;
  beforeAll(() => {
    cwd = mkdtempSync(join(tmpdir(), 'latchkey-fuzz-'));
    files = Object.fromEntries(Object.entries(FILES).map(([name, text]) => [join(cwd, name), text]));
    for (const [path, text] of Object.entries(files)) writeFileSync(path, text);
  });
  afterAll(() => rmSync(cwd, { recursive: true }));

  const env = (all: readonly EnvCase[]): Record<string, string> =>
    Object.fromEntries(all.map(({ variable, value }) => [variable, value]));

  /** The oracle of all that is read: the reference, and no secret in a line. */
  function judged(result: Outcome, given: Environment): Verdict {
    mustShowNoSecret(result, given);
    mustBeByTheBook(result, settingsByTheBook(given, cwd, files));
    return isFaults(result) ? 'refused' : 'accepted';
  }

  it('of an environment are what a reference of the contract reads, or refused in lines that name the variable and show no secret', async () => {
    await fuzz({
      name: 'settings of an environment',
      short: 1000,
      full: 300_000,
      generate: (random) => JSON.stringify(envCases(random)),
      judge(input): Verdict {
        const given = env(parsed(input));
        return judged(
          outcome(() => loadCommandSettings(false, given, cwd)),
          given,
        );
      },
    });
  });

  it('of a .env are those of the same environment', async () => {
    await fuzz({
      name: '.env against the environment',
      short: 300,
      full: 60_000,
      generate: (random) =>
        JSON.stringify(envCases(random).map((one) => ({ ...one, line: lineOf(random, one) }))),
      judge(input): Verdict {
        const all = parsed(input) as (EnvCase & { line?: string })[];
        const written = all.filter(({ line }) => line !== undefined);
        const fromFile = withDotEnv(written.map(({ line }) => line).join(''));
        const direct = outcome(() => loadCommandSettings(false, env(written), cwd));
        if (isFaults(fromFile) !== isFaults(direct)) throw new Error('one is refused, and the other is not');
        const [one, other] = isFaults(fromFile)
          ? [fromFile, direct]
          : [comparable(fromFile), comparable(direct as Settings)];
        if (!isDeepStrictEqual(one, other))
          throw new Error(`${JSON.stringify(one)} is not ${JSON.stringify(other)}`);
        return isFaults(fromFile) ? 'refused' : 'accepted';
      },
    });
  });

  it('of any bytes in a .env are what the reference reads in what dotenv finds there', async () => {
    await fuzz({
      name: '.env, bytes',
      short: 300,
      full: 60_000,
      generate: (random) =>
        mutatedBytes(
          random,
          Buffer.from(
            envCases(random)
              .map((one) => lineOf(random, one) ?? `${one.variable}:${one.value}\n`)
              .join(''),
          ),
        ),
      judge(bytes) {
        const found = withDotEnv(bytes);
        const text = utf8(bytes);
        if (text !== undefined) return judged(found, parse(text));
        expect(found).toContainEqual(expect.stringMatching(/^\.env: cannot be read \(not text/));
        return 'refused';
      },
    });
  });

  function withDotEnv(content: string | Buffer): Outcome {
    const file = join(cwd, '.env');
    writeFileSync(file, content);
    try {
      return outcome(() => loadCommandSettings(false, {}, cwd));
    } finally {
      rmSync(file);
    }
  }
});

function utf8(bytes: Buffer): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

function parsed(input: string): EnvCase[] {
  try {
    const value: unknown = JSON.parse(input);
    return Array.isArray(value)
      ? value.filter(
          (one: Partial<EnvCase> | null): one is EnvCase =>
            typeof one?.variable === 'string' && typeof one.value === 'string',
        )
      : [];
  } catch {
    return []; // a piece of an input, while the smallest is looked for
  }
}

/** A line of a .env, in one of the ways to quote; undefined where none can say the value. */
function lineOf(random: Random, { variable, value }: EnvCase): string | undefined {
  if (!/^[\w.-]+$/.test(variable) || variable === '__proto__') return undefined;
  const before = random.pick(['', '', 'export ', '  ', '# x=y\n', '\n\n']);
  const after = random.pick(['\n', '\r\n', ' # a comment\n', '\n#\n']);
  const quotes = [
    ...(/^[\w./:,-]+$/.test(value) ? [''] : []),
    ...(/^[^'\\\r\0]*$/.test(value) ? ["'"] : []),
    ...(/^[^`\\\r\0]*$/.test(value) ? ['`'] : []),
    ...(/^[^"\\\r\n\0]*$/.test(value) ? ['"'] : []),
  ];
  if (quotes.length === 0 || !value.isWellFormed()) return undefined;
  const quote = random.pick(quotes);
  return `${before}${variable}${random.pick(['=', ' = ', '= '])}${quote}${value}${quote}${after}`;
}
