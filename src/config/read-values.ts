import type { Faults } from './invalid-settings.js';
import type { Kind } from './kinds.js';
import { read } from './setting.js';
import type { Environment, Setting } from './setting.js';
import { settingsTable } from './settings-table.js';

type Table = typeof settingsTable;
type Value<S> = S extends { kind: Kind<infer T> }
  ? S extends { default: string }
    ? T
    : T | undefined
  : never;

/** The value of every setting of the table; `undefined` where it is unset and has no default. */
export type Values = { readonly [K in keyof Table]: Value<Table[K]> };

/** Reads every setting of the table. One that is at fault has its default, so that the others can be judged. */
export function readValues(env: Environment, faults: Faults): Values {
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
