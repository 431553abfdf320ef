/** Characters of a name, counted as people see them. */
const LONGEST = 80;
/**
 * Control and direction characters (U+202E turns text around), line separators, and invisible ones. Joiners
 * stay: Persian words and emoji need them.
 */
const HIDDEN = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/gu;

/**
 * Removes hidden characters from the name of a program, and cuts it.
 * @returns undefined if nothing is left
 */
export function toPlainName(text: string): string | undefined {
  const shown = text.slice(0, 2000).replaceAll(HIDDEN, '').replaceAll(/\s+/g, ' ').trim();
  const cut = [...new Intl.Segmenter().segment(shown)].slice(0, LONGEST);
  return cut.map(({ segment }) => segment).join('') || undefined;
}

export function isPlainName(text: string): boolean {
  return toPlainName(text) === text;
}
