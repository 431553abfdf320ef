import { parseArgs } from 'node:util';

export interface Options {
  readonly users: number;
  readonly groups: number;
  /** Members of the large group. */
  readonly large: number;
  /** Length of a window. */
  readonly seconds: number;
  /** Pairs of windows. */
  readonly rounds: number;
}

export const USAGE = `npm run lab -- directory [options]
  --users 100000   of the directory
  --groups 2000
  --large 50000    members of the large group
  --seconds 4      length of a window: refreshes alone, or beside the synchronisation
  --rounds 8       pairs of windows`;

const DEFAULTS: Options = {
  users: 100_000,
  groups: 2000,
  large: 50_000,
  seconds: 4,
  rounds: 8,
};

/** @throws Error that says what is wrong with the command line */
export function parseOptions(args: readonly string[]): Options {
  const names = Object.keys(DEFAULTS) as (keyof Options)[];
  const { values } = parseArgs({
    args: [...args],
    options: Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])),
  });
  const numbers = names.map((name) => {
    const value = Number(values[name] ?? DEFAULTS[name]);
    if (!Number.isInteger(value) || value < 0) throw new Error(`--${name} takes whole numbers`);
    return [name, value] as const;
  });
  return Object.fromEntries(numbers) as Record<keyof Options, number>;
}
