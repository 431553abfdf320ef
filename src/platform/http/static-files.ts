import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Request, Response } from 'express';

/** Folder of package.json and of static files, for `src/` and `dist/src/` alike. */
export const PACKAGE_ROOT = rootAbove(fileURLToPath(import.meta.url));

/** Version of the service, from package.json. */
export const { version: VERSION } = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
};

function rootAbove(path: string): string {
  const parent = dirname(path);
  if (parent === path) throw new Error('no package.json above this module');
  return existsSync(join(parent, 'package.json')) ? parent : rootAbove(parent);
}

// No HTML: pages have routes and policies in their controllers. No name begins with a dot.
const SERVED = /^\w[\w.-]*\.(?:css|js|svg|png|woff2)$/;

/** Lists the regular files of known types in a folder; the folder may be missing. */
export function filesToServe(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && SERVED.test(entry.name))
    .map(({ name }) => name);
}

/** ETags by path, of files as they were then. */
const etags = new Map<string, { readonly stamp: string; readonly etag: string }>();

/**
 * Sends a file, which browsers may store but must revalidate: 304 while its content is unchanged. Its time
 * says nothing: in a package, all files have one time, in each version.
 * @public
 */
export function sendFile(response: Response, path: string): void {
  response.setHeader('Cache-Control', 'no-cache');
  if (existsSync(path)) response.setHeader('ETag', etagOf(path)); // else sendFile answers 404
  response.sendFile(basename(path), { root: dirname(path), cacheControl: false, lastModified: false });
}

/** Codings of a file that its build has compressed, best first, and the ends of their names. */
const CODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/**
 * Sends a file as `sendFile` does, compressed if the build has made that and the client accepts it. Only for
 * files without secrets: the length of a compressed answer depends on its content.
 * @public
 */
export function sendCompressed(request: Request, response: Response, path: string): void {
  response.vary('Accept-Encoding');
  const found = CODINGS.find(([coding, end]) => request.acceptsEncodings(coding) && existsSync(path + end));
  if (!found) return sendFile(response, path);
  const [coding, end] = found;
  response.type(extname(path));
  response.setHeader('Content-Encoding', coding);
  sendFile(response, path + end);
}

function etagOf(path: string): string {
  const { mtimeMs, size } = statSync(path);
  const stamp = `${mtimeMs} ${size}`;
  const known = etags.get(path);
  if (known?.stamp === stamp) return known.etag;
  const etag = `"${hash('sha256', readFileSync(path), 'base64')}"`;
  etags.set(path, { stamp, etag });
  return etag;
}
