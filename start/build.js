// What `npm start` builds: the client, which the demo page loads, and the service. Each is built only where what it is made
// from, or what was made, is not what it was after the last build. That is seen by contents, in 0.1 s: times of files are
// moved by `git checkout` and by clocks, and an interrupted build, a lost file or another build need no special case.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashOf, readFiles, root, writeFile, writeFiles } from './files.js';

const CLIENT = ['src', 'build.js', 'package.json', 'tsconfig.json', 'tsconfig.build.json'].map((name) =>
  join('packages/client', name),
);
const CLIENT_OUTPUT = ['packages/client/dist'];
const SERVICE_OUTPUT = ['dist/src', 'dist/packages', 'dist/ormconfig.js', 'dist/ormconfig.js.map'];
/** Of the client, as in nest-cli.json: what the demo page may load. */
const SERVED = /dist[/\\](?!development|react)[^/\\]+$/;
const SOURCE = /(?<!\.spec|\.d)\.ts$/;

/**
 * @param {(line: string) => void} say is told what is compiled, before it is
 * @throws what prevents it
 */
export async function build(say) {
  const { imports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const packages = Object.values(imports).map((of) => join(of['@latchkey/source'], '..'));
  const compilers = ['typescript', 'esbuild', '@swc/core'].map((name) => `node_modules/${name}/package.json`);
  mkdirSync(join(root, 'dist'), { recursive: true });

  const client = readFiles([...CLIENT, 'tsconfig.json', ...compilers]); // its own tsconfig.json extends the root's
  if (isNew('client', client, readFiles(CLIENT_OUTPUT))) {
    say('compiling the client');
    const { status } = spawnSync(process.execPath, ['packages/client/build.js'], {
      cwd: root,
      stdio: 'inherit',
    });
    if (status !== 0) throw new Error('the client could not be compiled');
    isBuilt('client', client, readFiles(CLIENT_OUTPUT));
  }

  const served = only(SERVED, readFiles(CLIENT_OUTPUT));
  const sources = only(SOURCE, readFiles(['src', ...packages, 'ormconfig.ts']));
  const inputs = new Map([...sources, ...served, ...readFiles(['start', ...compilers])]);
  if (isNew('service', inputs, readFiles(SERVICE_OUTPUT))) {
    say('compiling the service');
    const { compile } = await import('./compile.js');
    const output = compile(sources);
    for (const [name, content] of served) output.set(join('dist', name), content);
    writeFiles(SERVICE_OUTPUT, output);
    isBuilt('service', inputs, output);
  }
}

function only(names, files) {
  return new Map([...files].filter(([name]) => names.test(name)));
}

const markOf = (part) => `dist/.${part}`;

function isNew(part, inputs, output) {
  const [mark] = readFiles([markOf(part)]).values();
  return mark?.toString() !== hashOf(inputs, output);
}

function isBuilt(part, inputs, output) {
  writeFile(markOf(part), hashOf(inputs, output));
}
