import { relative } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';
import { ROOT } from './places.js';
import { slugOf } from './slug.js';

/** Pages that are tables: each row is found alone. Otherwise the search would lead to a section of twenty answers. */
const TABLES = new Set(['docs/how-do-i.md', 'docs/glossary.md']);

const ROW = /^\| (?!-)(.+?) +\| (.+?) +\|$/gm;
const HEAD = /^.+\n\| -+ \| -+ \|$/gm;

/** Returns the text for the search index: a heading with its answer in place of each row. */
export function rowsAsHeadings(text: string, file: string): string {
  if (!TABLES.has(file)) return text;
  return text.replaceAll(HEAD, '').replaceAll(ROW, '### $1\n\n$2\n');
}

/** Gives each row the id of its heading in the index, so that a result of the search leads to it. */
export function rowIds(md: MarkdownRenderer): void {
  md.core.ruler.push('row-ids', ({ tokens, env }) => {
    const { realPath = '' } = env as { realPath?: string };
    if (!TABLES.has(relative(ROOT, realPath))) return;
    tokens.forEach((token, index) => {
      const words = tokens[index + 2]?.children ?? [];
      if (token.type !== 'tr_open' || tokens[index + 1]?.type !== 'td_open') return;
      token.attrSet('id', slugOf(words.map(({ content }) => content).join('')));
    });
  });
}
