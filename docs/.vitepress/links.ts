import { statSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';
import { pageOf, ROOT, targetOf } from './places.js';

type Token = ReturnType<MarkdownRenderer['parse']>[number];

/**
 * Documents link as GitHub wants it: to files, relative to their own. The site has other paths, so each link is
 * rewritten to the page of the file it means. A folder has no page: its link becomes plain text.
 */
export function repositoryLinks(md: MarkdownRenderer): void {
  md.core.ruler.push('repository-links', ({ tokens, env }) => {
    const file = relative(ROOT, (env as { realPath?: string }).realPath ?? '');
    for (const { children } of tokens) rewrite(children ?? [], file);
  });
}

function rewrite(tokens: Token[], file: string): void {
  tokens.forEach((token, index) => {
    const href = token.type === 'link_open' ? token.attrGet('href') : null;
    const target = href === null ? undefined : targetOf(href, file);
    if (target === undefined) return;
    const { path, hash } = target;
    if (statSync(join(ROOT, path), { throwIfNoEntry: false })?.isDirectory()) {
      const close = tokens.find(({ type }, at) => at > index && type === 'link_close')!;
      token.tag = close.tag = 'span';
      token.attrs = null;
    } else token.attrSet('href', `/${pageOf(path)}${hash && `#${hash}`}`);
  });
}
