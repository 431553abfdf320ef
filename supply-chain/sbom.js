// `npm run sbom`: prints what the service is made of (CycloneDX 1.5, JSON): every package that `npm ci --omit=dev` installs on any
// platform, with version, licence and hash, by package-lock.json. Nothing has to be installed, and nothing is asked of a registry.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const { name, packages } = JSON.parse(readFileSync(`${root}package-lock.json`, 'utf8'));

// Their package.json has the list `licenses` of former times, which npm does not write into the lock.
const LICENSES = { busboy: 'MIT', streamsearch: 'MIT' };

/** `name@version` of what production needs, as `bom-ref` has it. */
const needed = new Set();
for (const [place, { version, dev, link }] of Object.entries(packages)) {
  if (place.startsWith('node_modules/') && !dev && !link) {
    needed.add(`${place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`);
  }
}

// All, not with `--omit=dev`: npm would leave out what anybody has as a devDependency, though the service needs it as well.
const command = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'];
const output = execFileSync('npm', command, {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
  stdio: ['ignore', 'pipe', 'inherit'],
  shell: process.platform === 'win32', // there npm is a .cmd
});

const bom = JSON.parse(output);
const { component } = bom.metadata;
component.name = name; // npm takes the directory's
bom.components = bom.components.filter((one) => needed.has(one['bom-ref']));
for (const one of bom.components) {
  const id = LICENSES[one.name];
  if (id && !one.licenses) one.licenses = [{ license: { id } }];
  // The same version may stand elsewhere in the tree for tests alone.
  one.properties = one.properties.filter((property) => property.name !== 'cdx:npm:package:development');
}
const { dependencies, optionalDependencies } = packages[''];
const direct = new Set(Object.keys({ ...dependencies, ...optionalDependencies }));
const nameOf = (ref) => ref.slice(0, ref.lastIndexOf('@'));
bom.dependencies = bom.dependencies
  .filter(({ ref }) => needed.has(ref) || ref === component['bom-ref'])
  .map(({ ref, dependsOn }) => {
    const isRoot = ref === component['bom-ref'];
    return {
      ref,
      dependsOn: dependsOn.filter((one) => needed.has(one) && (!isRoot || direct.has(nameOf(one)))),
    };
  });

process.stdout.write(`${JSON.stringify(bom, null, 2)}\n`);
