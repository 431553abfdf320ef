import { readFileSync } from 'node:fs';

const read = (name: string): string => readFileSync(new URL(`../../deploy/${name}`, import.meta.url), 'utf8');

/**
 * A file of deploy/ as a test needs it: other addresses and paths, and what it includes from there in its place.
 * @param changes from what stands there to what shall
 * @throws Error where the file does not say what shall be changed
 */
export function deployed(name: string, changes: Readonly<Record<string, string>>): string {
  let text = read(name).replaceAll(/^ *include (nginx-\w+\.conf);$/gm, (_, included: string) =>
    read(included),
  );
  for (const [from, to] of Object.entries(changes)) {
    if (!text.includes(from)) throw new Error(`deploy/${name} does not say "${from}"`);
    text = text.replaceAll(from, to);
  }
  return text;
}
