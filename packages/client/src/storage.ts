import type { StorageChoice } from './options.js';

type Area = Exclude<StorageChoice, string>;

/** One value in a storage, as JSON. */
export interface Stored<Value> {
  get(): Value | undefined;
  /** Without a value, removes it. Where there is no room or no permission, the value is kept in memory. */
  put(value?: Value): void;
}

export function stored<Value>(choice: StorageChoice, key: string): Stored<Value> {
  let area = areaOf(choice);
  return {
    get() {
      try {
        return (JSON.parse(area.getItem(key)!) as Value | null) ?? undefined;
      } catch {
        return undefined; // something else wrote it
      }
    },
    put(value) {
      if (!value) return area.removeItem(key);
      const text = JSON.stringify(value);
      try {
        area.setItem(key, text);
      } catch {
        area = inMemory();
        area.setItem(key, text);
      }
    },
  };
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
