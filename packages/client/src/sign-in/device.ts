import type { stored, Stored } from '../tokens/storage.js';

let id: Stored<string> | undefined;

/** Returns the id of this device (spec §2.4): made once and kept in localStorage, wherever the tokens are stored. */
export function deviceId(store: typeof stored): string {
  id ??= store('localStorage', 'latchkey:device');
  if (!id.get()) id.put(crypto.randomUUID());
  return id.get()!;
}

// `mark:name`, or one word for both. The first match counts: most browsers also claim to be those listed after them.
const BROWSERS = 'Edg:Edge,OPR:Opera,Firefox,FxiOS:Firefox,Chrome,CriOS:Chrome,Safari,Node';
const SYSTEMS = 'iPhone,iPad,Android,Windows,Mac:macOS,CrOS:ChromeOS,Linux';

/** Derives a name for this device from the user agent, e.g. `Firefox on macOS`. */
export function deviceName(agent = globalThis.navigator?.userAgent ?? 'Node'): string {
  const names = [BROWSERS, SYSTEMS].map((table) => {
    const [mark, name = mark] =
      table
        .split(',')
        .map((entry) => entry.split(':'))
        .find(([text]) => agent.includes(text!)) ?? [];
    return name;
  });
  return names.filter(Boolean).join(' on ') || 'Browser';
}
