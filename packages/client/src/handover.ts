import { openBroadcast } from './broadcast.js';
import { parse, stored } from './storage.js';
import { after } from './timer.js';

/** Seconds for which the callback page waits for the page that began the sign-in. */
const PATIENCE = 2;

/** The parameters of a callback (spec §1, step 3; RFC 6749 §4.1.2, RFC 9207). */
export type CallbackQuery = { [Name in (typeof PARAMETERS)[number]]?: string | undefined };

export const PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description'] as const;

/** What pages of this origin tell each other: a callback, or that it was taken, by its state. */
type News = CallbackQuery & { readonly taken?: string | undefined };

interface Line {
  readonly say: (news: News) => void;
  readonly close: () => void;
}

/**
 * The way between two windows that may not know each other, because a page between them sent `Cross-Origin-Opener-Policy`: by
 * BroadcastChannel, and by storage events, for browsers that lack the former. News may arrive twice. Nothing stays in the storage.
 */
function openLine(name: string, hear: (news: News) => void): Line {
  const channel = openBroadcast(name);
  const listening = new AbortController();
  // Any script of this origin may say anything, or nothing.
  channel?.addEventListener('message', ({ data }) => hear((data as News | null) ?? {}));
  addEventListener(
    'storage',
    // The event brings what was stored, which is gone by now.
    ({ key, newValue }) => key === name && hear((parse(newValue) as News | undefined) ?? {}),
    listening,
  );
  return {
    say(news) {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel, which has none
      channel?.postMessage(news);
      const slot = stored<News>('localStorage', name);
      slot.put(news);
      slot.put();
    },
    close() {
      channel?.close();
      listening.abort();
    },
  };
}

/**
 * For the page that began a sign-in: waits for its callback, and for no other.
 * @returns a function that stops it
 */
export function awaitCallback(
  name: string,
  state: string,
  onCallback: (query: CallbackQuery) => void,
): () => void {
  const line = openLine(name, (news) => {
    if (news.state !== state) return; // of another tab's sign-in, or of nobody's
    line.say({ taken: state });
    onCallback(news);
  });
  return line.close;
}

/** For the callback page. @returns whether the page that began the sign-in has taken it; bounded by 2 s */
export function handOver(name: string, query: CallbackQuery): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (taken: boolean): void => {
      cancel();
      line.close();
      resolve(taken);
    };
    const cancel = after(PATIENCE, () => end(false));
    const line = openLine(name, ({ taken }) => {
      if (taken && taken === query.state) end(true);
    });
    line.say(query);
  });
}
