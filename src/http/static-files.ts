import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Response } from 'express';

// No HTML: pages have routes and policies in their controllers. No name begins with a dot.
const SERVED = /^\w[\w.-]*\.(?:css|js|svg|png|woff2)$/;

/** Lists the regular files of known types in a folder; the folder may be missing. */
export function filesToServe(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && SERVED.test(entry.name))
    .map(({ name }) => name);
}

/** Sends a file, which browsers may store but must revalidate: 304 while it is unchanged. */
export function sendFile(response: Response, path: string): void {
  response.setHeader('Cache-Control', 'no-cache');
  response.sendFile(basename(path), { root: dirname(path), cacheControl: false });
}
