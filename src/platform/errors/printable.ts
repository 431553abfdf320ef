/** Cuts a text of unknown origin, and replaces what could change a terminal. @param max characters */
export function printable(text: string, max: number): string {
  return text
    .slice(0, 10_000)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, max)
    .toWellFormed();
}
