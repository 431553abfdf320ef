import { readFileSync } from 'node:fs';
import { GROUND, MODULES } from '../test/project/modules.js';

export const CONTRIBUTING = new URL('../CONTRIBUTING.md', import.meta.url);

/** CONTRIBUTING.md with the table and the diagram of the modules, between their comments. */
export function contributingPage(): string {
  const page = readFileSync(CONTRIBUTING, 'utf8');
  return page.replace(
    /(<!-- modules: .*-->)[^]*(<!-- modules end -->)/,
    (_, start: string, end: string) => `${start}\n\n${moduleTable()}\n\n${moduleDiagram()}\n\n${end}`,
  );
}

function moduleTable(): string {
  const rows = Object.entries(MODULES).map(([name, { contents }]) => `| \`${name}\` | ${contents} |`);
  return ['| Module | Contents |', '|---|---|', ...rows].join('\n');
}

/** Arrows to the platform and to the ground are left out, as are those of features and commands, which may use all below. */
function moduleDiagram(): string {
  const names = Object.keys(MODULES);
  const [platform, features, commands] = ['platform', 'features', 'commands'].map((floor) =>
    names.filter((name) => name.startsWith(`${floor}/`)),
  );
  const core = names.filter((name) => !name.includes('/') && !GROUND.includes(name));
  const arrows = core.map((name) => {
    const below = MODULES[name]!.imports.filter((path) => core.includes(path));
    return below.length > 0 ? `${name} --> ${below.join(' & ')}` : name;
  });
  const box = (name: string, label: string, lines: readonly string[]): string[] => [
    `  subgraph ${name} ["${label}"]`,
    ...lines.map((line) => `    ${line}`),
    '  end',
  ];
  const leaf = (path: string): string => `${path.replace('/', '-')}["${path.split('/')[1]}"]`;
  return [
    '```mermaid',
    'flowchart TD',
    ...box('commands', 'commands/', commands!.map(leaf)),
    ...box('features', 'features/: none knows another', features!.map(leaf)),
    ...box('core', 'the core: no module knows a feature', arrows),
    ...box(
      'ground',
      'open to every module above',
      GROUND.filter((name) => !name.includes('/')),
    ),
    ...box('platform', 'platform/: knows no domain', platform!.map(leaf)),
    '  commands --> features --> core --> ground --> platform',
    '```',
  ].join('\n');
}
