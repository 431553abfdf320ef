import type { StorageChoice } from './options.js';

type Area = Exclude<StorageChoice, string>;

/** One value in a storage, as JSON. */
export interface Stored<Value> {
  get(): Value | undefined;
  /**
   * Without a value, removes it. If there is no storage, no room or no permission, the value is kept in memory.
   * @returns whether the storage has taken it, so that it is there when the page has been left
   */
  put(value?: Value): boolean;
}

export function stored<Value>(choice: StorageChoice, key: string): Stored<Value> {
  // Undefined for `memory`; browsers that forbid storage throw.
  const area = (): Area =>
    typeof choice === 'object' ? choice : (globalThis as unknown as Record<string, Storage>)[choice]!;
  /** What the storage would not take. It is asked again each time: there may be room for the end of a session, if not for more. */
  let kept: string | undefined;
  return {
    get() {
      try {
        return parse(kept ?? area().getItem(key)) as Value | undefined;
      } catch {
        return undefined;
      }
    },
    put(value) {
      const text = value && JSON.stringify(value);
      try {
        if (text) area().setItem(key, text);
        else area().removeItem(key);
        kept = undefined;
        return true;
      } catch {
        kept = text ?? 'null';
        return false;
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
