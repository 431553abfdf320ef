/** Characters of a key, so that any key fits into an index: UTF-16 units. */
export const LONGEST_KEY = 255;

/**
 * Returns the key by which words of a name or an e-mail address are searched (`user_words`): without
 * differences of case, width and composition. Upper case, since lower case depends on the place in the word
 * (Greek sigma); the Turkish letters `İ` and `ı` count as `I`, as people type them. The key of a prefix is a
 * prefix of the key, unless a combining character follows.
 */
export function searchKey(text: string): string {
  const key = text.normalize('NFKC').toLowerCase().toUpperCase().replaceAll('I\u0307', 'I');
  return startOf(key, LONGEST_KEY);
}

/** Returns the begin of a text, without half a character. @param most UTF-16 units */
export function startOf(text: string, most: number): string {
  return text.slice(0, most).replace(/[\ud800-\udbff]$/, '');
}
