import { existsSync, readdirSync } from 'node:fs';

// HTML is not among them: a page has a route and a policy of its own. No name begins with a dot.
const SERVED = /^\w[\w.-]*\.(?:css|js|svg|png|woff2)$/;

/** The names of the files that pages may load from a folder: regular files of known types that are there now. */
export function filesToServe(folder: string): string[] {
  if (!existsSync(folder)) return []; // where the demo is turned off, the folder may be missing
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && SERVED.test(entry.name))
    .map(({ name }) => name);
}
