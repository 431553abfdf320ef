import type { StorageChoice } from './options.js';

type Area = Exclude<StorageChoice, string>;

/** One value in a storage, as JSON. */
export interface Stored<Value> {
  get(): Value | undefined;
  /** Without a value, removes it. Where there is no room or no permission, the value is kept in memory. */
  put(value?: Value): void;
}

export function stored<Value>(choice: StorageChoice, key: string): Stored<Value> {
  const area = areaOf(choice);
  /** What the storage would not take. It is asked again each time: there may be room for the end of a session, if not for more. */
  let kept: string | undefined;
  return {
    get() {
      try {
        return parse(kept ?? area.getItem(key)) as Value | undefined;
      } catch {
        return undefined;
      }
    },
    put(value) {
      const text = value && JSON.stringify(value);
      try {
        if (text) area.setItem(key, text);
        else area.removeItem(key);
        kept = undefined;
      } catch {
        kept = text ?? 'null';
      }
    },
  };
}

/** What was stored as JSON; undefined where something else wrote it, or nothing is there. */
export function parse(text: string | null): unknown {
  try {
    return (JSON.parse(text!) as unknown) ?? undefined;
  } catch {
    return undefined;
  }
}

function areaOf(choice: StorageChoice): Area {
  if (typeof choice === 'object') return choice;
  try {
    // Browsers that forbid storage throw.
    return (globalThis as unknown as Partial<Record<string, Storage>>)[choice] ?? inMemory();
  } catch {
    return inMemory();
  }
}

function inMemory(): Area {
  const values = new Map<string, string>();
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  };
}
