import { relative } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';
import { ROOT } from './places.js';
import { slugOf } from './slug.js';
import { TABLES } from './table-search.js';

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
