import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import MarkdownIt from 'markdown-it';
import { ROOT, targetOf } from './places.js';
import { slugOf } from './slug.js';

const markdown = new MarkdownIt({ html: true });
const read = (file: string): string =>
  readFileSync(join(ROOT, file), 'utf8').replace(/^---\n.*?\n---\n/s, '');

/** The links of a document to files of the repository, and (`path` is its own) to its own headings. */
export function linksOf(file: string): { path: string; hash: string; href: string }[] {
  if (!existsSync(join(ROOT, file))) return [];
  const hrefs = markdown
    .parse(read(file), {})
    .flatMap(({ children }) => children ?? [])
    .flatMap((token) => token.attrGet('href') ?? token.attrGet('src') ?? []);
  return hrefs.flatMap((href) => {
    const target = href.startsWith('#') ? { path: file, hash: href.slice(1) } : targetOf(href, file);
    return target === undefined ? [] : [{ ...target, href }];
  });
}

/** The ids of a document's headings, in GitHub and in the site alike. */
export function headingsOf(file: string): Set<string> {
  const ids = new Set<string>();
  const tokens = markdown.parse(read(file), {});
  tokens.forEach(({ type }, index) => {
    if (type !== 'heading_open') return;
    const words = tokens[index + 1]!.children ?? [];
    const text = words
      .filter((word) => ['text', 'code_inline'].includes(word.type))
      .map(({ content }) => content);
    const slug = slugOf(text.join(''));
    let id = slug;
    for (let count = 1; ids.has(id); count++) id = `${slug}-${count}`;
    ids.add(id);
  });
  return ids;
}
