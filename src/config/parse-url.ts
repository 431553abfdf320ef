/**
 * A URL (WHATWG), or undefined. For what comes with requests: `URL.canParse` of Node.js 20 and 22 calls hosts with letters like ä no
 * URL any more once it has been asked some thousand times.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
