import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '../http/package-root.js';

const FOLDER = join(PACKAGE_ROOT, 'docs');
/** The address that stands in the files. */
const SERVER = 'http://localhost:3000';

export interface ServedFile {
  readonly text: Buffer;
  readonly etag: string;
  /** The Content-Security-Policy of a page: nothing is loaded, and only its own style sheet applies. */
  readonly policy: string;
}

/**
 * A file that `npm run docs:api` has made, with the address of this instance.
 * @param publicUrl an origin, which is safe in HTML and in JSON
 */
export function readServedFile(name: string, publicUrl: string): ServedFile {
  const made = readFileSync(join(FOLDER, name), 'utf8');
  const text = made
    .replaceAll(SERVER, publicUrl)
    .replaceAll(encodeURIComponent(SERVER), encodeURIComponent(publicUrl));
  const [, style = ''] = /<style>([^]*?)<\/style>/.exec(text) ?? [];
  return {
    text: Buffer.from(text),
    etag: `"${hashOf(text).slice(0, 22)}"`,
    policy: `default-src 'none'; style-src 'sha256-${hashOf(style)}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  };
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
