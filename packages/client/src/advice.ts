declare const DEVELOPMENT: boolean;

/** True in the development build, and where the sources are run as they are. Built for production, what depends on it is left out. */
export const IS_DEVELOPMENT = typeof DEVELOPMENT === 'undefined' || DEVELOPMENT;

/** More would flood the console. */
const MOST = 50;
const given = new Set<string>();

/** Tells the developer, once, what will not work and what to do. @param text never with a token, a code or an address' query */
export function advise(text: string): void {
  if (given.size >= MOST || given.has(text)) return;
  given.add(text);
  console.warn(`[latchkey] ${text}`);
}
