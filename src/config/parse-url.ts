/**
 * A URL (WHATWG), or undefined. For what comes with requests, and for settings.
 *
 * Node 20: `URL.canParse` calls hosts with letters like ä no URL any more once it has been asked some thousand times.
 * So does that of Node 22: it may be used here once 24 is the oldest.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
