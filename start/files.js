// The files that a build reads and writes, by path relative to the root, and what they hold.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Reads files, and all that lie in folders; what is not there is left out.
 * @param {string[]} paths relative to the root
 * @returns {Map<string, Buffer>} by path relative to the root
 */
export function readFiles(paths) {
  return new Map(paths.flatMap(namesAt).flatMap(readFile));
}

function readFile(name) {
  try {
    return [[name, readFileSync(join(root, name))]];
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return []; // removed in this moment, by another `npm start` or by an editor
  }
}

function namesAt(path) {
  const stats = statSync(join(root, path), { throwIfNoEntry: false });
  if (!stats) return [];
  if (!stats.isDirectory()) return [path];
  const inIt = readdirSync(join(root, path), { recursive: true, withFileTypes: true });
  const files = inIt.filter((entry) => entry.isFile());
  return files.map((entry) => join(entry.parentPath, entry.name).slice(root.length));
}

/** One value for what files of several reads are called and hold. */
export function hashOf(...reads) {
  const hash = createHash('sha256');
  for (const files of reads)
    for (const name of [...files.keys()].toSorted((a, b) => (a < b ? -1 : 1)))
      hash.update(`${name}\0${files.get(name).length}\0`).update(files.get(name));
  return hash.digest('hex');
}

/**
 * Makes folders hold these files and no others. A file is whole at any time, for a second `npm start` beside this one.
 * @param {string[]} folders relative to the root
 * @param {Map<string, Buffer>} files
 */
export function writeFiles(folders, files) {
  const present = readFiles(folders);
  for (const name of present.keys()) if (!files.has(name)) rmSync(join(root, name), { force: true });
  for (const [name, content] of files) if (!present.get(name)?.equals(content)) writeFile(name, content);
}

/** Writes a file so that it is whole at any time. */
export function writeFile(name, content) {
  const unfinished = join(root, `dist/.unfinished-${process.pid}`);
  mkdirSync(join(root, dirname(name)), { recursive: true });
  writeFileSync(unfinished, content);
  renameSync(unfinished, join(root, name));
}
