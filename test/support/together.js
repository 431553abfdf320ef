import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LONGEST } from './longest-first.js';

/*
 * Jest loads all modules anew for each spec file: for a service a second of the processor, before anything is tested, and then it
 * is code that no compiler has optimized yet. So spec files share that: a file in test/together/, made here, imports several. Each
 * tests a service of its own as before.
 */

const FOLDER = 'test/together';
/** How many share their modules. Few of those that start services: a worker must not have one left when all others have ended. */
const SHARED_BY = { src: 70, packages: 20, test: 20 };
/** Hooks of a whole file would run for the others as well. */
const HOOKS = /^(before|after)(All|Each)\(|^jest\./m;

/**
 * Makes test/together/.
 *
 * @param {string} root of the repository
 * @param {(path: string) => boolean} isLeftOut spec files that are not run at all
 * @returns {string[]} the spec files that others import, and which need not be run by themselves: paths from the root
 */
export function runTogether(root, isLeftOut) {
  const files = new Map();
  const shared = Object.entries(SHARED_BY).flatMap(([folder, sharedBy]) => {
    const specs = specsIn(root, folder).filter((path) => !isLeftOut(path) && canShare(root, path));
    const count = Math.ceil(specs.length / sharedBy);
    // Neighbours in the alphabet take alike long: each has some of all.
    specs.forEach((path, i) => {
      const name = `${folder}-${(i % count) + 1}.spec.ts`;
      files.set(name, `${files.get(name) ?? ''}import '../../${path.replace(/ts$/, 'js')}';\n`);
    });
    return specs;
  });
  write(join(root, FOLDER), files);
  return shared;
}

/** Leaves alone what is as it should be: another run may be under way. */
function write(folder, files) {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) if (!files.has(name)) rmSync(join(folder, name));
  for (const [name, text] of files) {
    const path = join(folder, name);
    if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
  }
}

function specsIn(root, folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith('.spec.ts') && !/\/(node_modules|together)\//.test(path))
    .toSorted();
}

function canShare(root, path) {
  return !LONGEST.includes(path) && !HOOKS.test(readFileSync(join(root, path), 'utf8'));
}
