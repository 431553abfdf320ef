/** Pages that are tables: each row is found alone. Otherwise the search would lead to a section of twenty answers. */
export const TABLES = new Set(['docs/how-do-i.md', 'docs/glossary.md']);

const ROW = /^\| (?!-)(.+?) +\| (.+?) +\|$/gm;
const HEAD = /^.+\n\| -+ \| -+ \|$/gm;

/** Returns the text for the search index: a heading with its answer in place of each row. */
export function rowsAsHeadings(text: string, file: string): string {
  if (!TABLES.has(file)) return text;
  return text.replaceAll(HEAD, '').replaceAll(ROW, '### $1\n\n$2\n');
}
