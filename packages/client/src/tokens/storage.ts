import type { StorageChoice } from '../options.js';

type Area = Exclude<StorageChoice, string>;

/** One value in a storage, as JSON. */
export interface Stored<Value> {
  get(): Value | undefined;
  /**
   * Stores the value; without one, removes it. If the storage is missing, full or forbidden, the value is kept in memory.
   * @returns whether the storage has it, so that it survives the page
   */
  put(value?: Value): boolean;
}

export function stored<Value>(choice: StorageChoice, key: string): Stored<Value> {
  // Undefined for `memory`; a browser that forbids storage throws.
  const area = (): Area =>
    typeof choice === 'object' ? choice : (globalThis as unknown as Record<string, Storage>)[choice]!;
  /** A value that the storage rejected. The storage is tried again each time: the end of a session needs less room. */
  let rejected: string | undefined;
  return {
    get() {
      try {
        return (JSON.parse((rejected ?? area().getItem(key))!) as Value | null) ?? undefined;
      } catch {
        return undefined;
      }
    },
    put(value) {
      const text = value && JSON.stringify(value);
      try {
        if (text) area().setItem(key, text);
        else area().removeItem(key);
        rejected = undefined;
        return true;
      } catch {
        rejected = text ?? 'null';
        return false;
      }
    },
  };
}

/** Opens a channel to the other pages of this origin; undefined without one: Firefox throws if storage is blocked. */
export function openBroadcast(name: string): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(name);
  } catch {
    return undefined;
  }
}
