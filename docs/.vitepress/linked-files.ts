import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { linksOf } from './markdown.js';
import { GENERATED, pageOf, ROOT } from './places.js';
import { WRITTEN } from './sidebar.js';

const LANGUAGES: Readonly<Record<string, string>> = { '.conf': 'nginx', '.cfg': 'ini', '.example': 'dotenv' };

/** A page for each file of the repository that a document links to, since the site's reader may have no repository. */
export function writeLinkedFiles(): void {
  const files = new Set(WRITTEN.flatMap((file) => linksOf(file).map(({ path }) => path)));
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
