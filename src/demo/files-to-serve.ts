import { existsSync, readdirSync } from 'node:fs';

// HTML is not among them: a page has a route and a policy of its own. No name begins with a dot.
const SERVED = /^\w[\w.-]*\.(?:css|js|svg|png|woff2)$/;

/** The names of all that pages may load from a folder: regular files of known types, those that are there now. */
export function filesToServe(folder: string): string[] {
  if (!existsSync(folder)) return []; // whoever turns the demo off may leave it out
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && SERVED.test(entry.name))
    .map(({ name }) => name);
}
