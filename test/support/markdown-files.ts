import { readFileSync } from 'node:fs';

/**
 * The files that a document shows: its blocks of code whose first line names one, as `// src/app.tsx` or
 * `<!-- src/App.vue -->` does.
 * @param path from the root of the repository
 * @returns their contents, by the names without `src/`
 */
export function filesIn(path: string): Record<string, string> {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const blocks = text.matchAll(/^```\w+\n((?:\/\/|<!--) src\/(\S+).*\n[^]*?)^```$/gm);
  return Object.fromEntries([...blocks].map(([, code, name]) => [name!, code!]));
}
