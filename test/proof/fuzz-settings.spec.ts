import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import express from 'express';
import { loadCommandSettings } from '../../src/config/load-settings.js';
import { parseSettings } from '../../src/config/parse-settings.js';
import type { Settings } from '../../src/config/settings.js';
import { envCase, type EnvCase } from './fuzz/env-cases.js';
import { fuzz, type Verdict } from './fuzz/fuzz.js';
import { mutatedBytes } from './fuzz/mutate.js';
import type { Random } from './fuzz/random.js';

const MARK = 'hunter2xyzzy';

/** Settings, or the lines of the refusal. @throws where the start would end with anything else */
function outcome(make: () => Settings): Settings | readonly string[] {
  try {
    return make();
  } catch (error) {
    const { name, message, faults } = error as Error & { faults?: readonly string[] };
    if (name !== 'InvalidSettings' || !faults?.length) throw error;
    if (message.includes(MARK)) throw new Error('a secret is printed', { cause: error });
    for (const fault of faults) {
      // oxlint-disable-next-line no-control-regex -- none may be in a line
      if (!/^[^\n\r\u0000-\u001f]+: [^\u0000-\u001f]+; accepted: [^\u0000-\u001f]+$/.test(fault))
        throw new Error(`not one line: ${fault}`, { cause: error });
    }
    return faults;
  }
}

function isFaults(result: Settings | readonly string[]): result is readonly string[] {
  return Array.isArray(result);
}

/** Without what is made anew each time. */
const comparable = ({ secretKey: _key, ...settings }: Settings): object => settings;

function mustBeAsExpected(cases: readonly EnvCase[], result: Settings | readonly string[]): void {
  const last = new Map(cases.map((one) => [one.variable, one]));
  for (const { variable, expected } of last.values()) {
    const named = isFaults(result) && result.some((fault) => fault.startsWith(`${variable}: `));
    if (expected === 'fault' && !named) throw new Error(`${variable} is not refused`);
    if (typeof expected !== 'object') continue;
    if (named) throw new Error(`${variable} is refused`);
    if (!isFaults(result)) expect(result[expected.setting as keyof Settings]).toEqual(expected.is);
  }
  if (isFaults(result)) return;
  if (result.warnings.some((line) => line.includes(MARK) || line.includes('\n')))
    throw new Error('a secret is printed');
  if (result.trustProxy !== undefined) express().set('trust proxy', result.trustProxy); // what is accepted, Express takes as well
}

describe('settings', () => {
  let cwd: string;
  beforeAll(() => (cwd = mkdtempSync(join(tmpdir(), 'latchkey-fuzz-'))));
  afterAll(() => rmSync(cwd, { recursive: true }));

  const cases = (random: Random): EnvCase[] => random.some(1, 8, () => envCase(random, MARK));
  const env = (all: readonly EnvCase[]): Record<string, string> =>
    Object.fromEntries(all.map(({ variable, value }) => [variable, value]));

  it('of an environment are read as they are meant, or refused in lines that name the variable and show no secret', async () => {
    await fuzz({
      name: 'settings of an environment',
      short: 1000,
      full: 300_000,
      generate: (random) => JSON.stringify(cases(random)),
      judge(input): Verdict {
        const all = parsed(input);
        const result = outcome(() => parseSettings(env(all), { cwd }));
        mustBeAsExpected(all, result);
        return isFaults(result) ? 'refused' : 'accepted';
      },
    });
  });

  it('of a .env are those of the same environment', async () => {
    await fuzz({
      name: '.env against the environment',
      short: 300,
      full: 60_000,
      generate: (random) =>
        JSON.stringify(cases(random).map((one) => ({ ...one, line: lineOf(random, one) }))),
      judge(input): Verdict {
        const all = parsed(input) as (EnvCase & { line?: string })[];
        const written = all.filter(({ line }) => line !== undefined);
        const file = join(cwd, '.env');
        writeFileSync(file, written.map(({ line }) => line).join(''));
        const fromFile = outcome(() => loadCommandSettings(false, {}, cwd));
        rmSync(file);
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

  it('of any bytes in a .env end in settings or in faults', async () => {
    await fuzz({
      name: '.env, bytes',
      short: 300,
      full: 60_000,
      generate: (random) =>
        mutatedBytes(
          random,
          Buffer.from(
            cases(random)
              .map((one) => lineOf(random, one) ?? `${one.variable}:${one.value}\n`)
              .join(''),
          ),
        ),
      judge(bytes): Verdict {
        writeFileSync(
          join(cwd, '.env'),
          bytes.toString('latin1').includes(MARK) && bytes.includes('_FILE') ? '' : bytes,
        );
        try {
          return isFaults(outcome(() => loadCommandSettings(false, {}, cwd))) ? 'refused' : 'accepted';
        } catch (error) {
          // A change may have made another variable of a secret's: what is printed then is no secret's value.
          if ((error as Error).message === 'a secret is printed') return 'refused';
          throw error;
        }
      },
    });
  });
});

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
