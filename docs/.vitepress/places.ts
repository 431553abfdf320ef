import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root, which is also the site's source: so READMEs outside docs/ are pages without being copied. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Where pages that are made at build time lie; git ignores it. */
export const GENERATED = 'docs/reference';

const ELSEWHERE: Readonly<Record<string, string>> = {
  'README.md': 'index.md', // written for those who look at the repository; the site has a home page of its own
  'SECURITY.md': 'security-policy.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'AGENTS.md': 'coding-agents.md', // docs/agents.md has its name
};

/** Where in the site a file of the repository is found. Paths of both are relative, with `/`. */
export function pageOf(file: string): string {
  if (ELSEWHERE[file]) return ELSEWHERE[file];
  if (file.startsWith(`${GENERATED}/files/`)) return file.slice(`${GENERATED}/`.length);
  if (!file.endsWith('.md')) return `files/${file.replace(/(^|\/)\./, '$1')}.md`; // a page that shows it: linked-files.ts
  return file.replace(/^docs\//, '').replace(/\/README\.md$/, '.md');
}

/** What in the repository a link means; undefined where it leads out of it or stays on its page. */
export function targetOf(href: string, file: string): { path: string; hash: string } | undefined {
  if (/^([a-z][a-z0-9+.-]*:|\/|#)/i.test(href)) return undefined;
  const [path = '', hash = ''] = href.split('#');
  const target = posix.join(posix.dirname(file), decodeURI(path)).replace(/\/$/, '');
  const readme = `${target}/README.md`;
  return { path: existsSync(join(ROOT, readme)) ? readme : target, hash };
}
