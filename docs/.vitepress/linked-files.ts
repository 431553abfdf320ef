import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { linksOf } from './markdown.js';
import { GENERATED, pageOf, ROOT } from './places.js';
import { LISTED } from './sidebar.js';

const LANGUAGES: Readonly<Record<string, string>> = { '.conf': 'nginx', '.cfg': 'ini', '.example': 'dotenv' };

/** Returns the documents that the sidebar lists, and those that they link to, directly or over others. */
export function documents(): Set<string> {
  const found = new Set(LISTED);
  for (const file of found)
    for (const { path } of linksOf(file)) if (path.endsWith('.md') && path !== 'README.md') found.add(path);
  return found;
}

/** A page for each file of the repository that a document links to, since the site's reader may have no repository. */
export function writeLinkedFiles(): void {
  const files = new Set([...documents()].flatMap((file) => linksOf(file).map(({ path }) => path)));
  for (const file of files) {
    const place = join(ROOT, file);
    if (file.endsWith('.md') || !statSync(place, { throwIfNoEntry: false })?.isFile()) continue;
    const language = LANGUAGES[extname(file)] ?? (extname(file).slice(1) || 'text');
    const page = join(ROOT, GENERATED, pageOf(file));
    mkdirSync(dirname(page), { recursive: true });
    const text = readFileSync(place, 'utf8');
    writeFileSync(
      page,
      `---\nsearch: false\naside: false\n---\n\n# ${file}\n\n\`\`\`\`${language}\n${text}\n\`\`\`\`\n`,
    );
  }
}
