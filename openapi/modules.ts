import { readFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { DECORATORS, GROUND, MODULES } from '../test/project/modules.js';

const CONTRIBUTING = new URL('../CONTRIBUTING.md', import.meta.url);

/** CONTRIBUTING.md with the table and the diagram of the modules, between their comments. */
export async function contributingPage(): Promise<{ file: URL; text: string }> {
  const page = readFileSync(CONTRIBUTING, 'utf8');
  const text = page.replace(
    /(<!-- modules: .*-->)[^]*(<!-- modules end -->)/,
    (_, start: string, end: string) => `${start}\n\n${moduleTable()}\n\n${moduleDiagram()}\n\n${end}`,
  );
  const options = await resolveConfig(CONTRIBUTING);
  return { file: CONTRIBUTING, text: await format(text, { ...options, parser: 'markdown' }) };
}

function moduleTable(): string {
  const rows = Object.entries(MODULES).map(([name, { contents }]) => `| \`${name}\` | ${contents} |`);
  return ['| Module | Contents |', '|---|---|', ...rows].join('\n');
}

/** Arrows to the ground are left out; a dotted arrow stands for single files. */
function moduleDiagram(): string {
  const names = Object.keys(MODULES);
  const ground = names.filter((name) => GROUND.includes(name));
  const arrows = (from: string, skipped: readonly string[]): string[] => {
    const imports = MODULES[from]!.imports.filter((path) => !skipped.includes(path));
    const modules = imports.filter((path) => names.includes(path));
    const files = imports.filter((path) => path.includes('/')).map((path) => path.split('/')[0]!);
    const lines = [
      modules.length > 0 && `${from} --> ${modules.join(' & ')}`,
      files.length > 0 && `${from} -.-> ${[...new Set(files)].join(' & ')}`,
    ].filter((line) => line !== false);
    return lines.length > 0 ? lines : [from];
  };
  const above = names.filter((name) => !ground.includes(name)).flatMap((name) => arrows(name, GROUND));
  const inside = ground.flatMap((name) => arrows(name, [DECORATORS]));
  return [
    '```mermaid',
    'flowchart TD',
    ...above.map((line) => `  ${line}`),
    '  subgraph ground [open to every module above]',
    ...inside.map((line) => `    ${line}`),
    '  end',
    '```',
  ].join('\n');
}
