import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { forModels } from '../../docs/.vitepress/for-models.js';
import { ROOT } from '../../docs/.vitepress/places.js';
import { SECTIONS } from '../../docs/.vitepress/sidebar.js';

const text = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const namesIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder)).map((name) => join(folder, name));
const { scripts } = JSON.parse(text('package.json')) as { scripts: Record<string, string> };

interface Workflow {
  readonly on: object;
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { uses?: string; run?: string }[] }>>;
}

describe.each(namesIn('.github/workflows'))('%s', (file) => {
  const { jobs, permissions } = parse(text(file)) as Workflow;
  const steps = Object.values(jobs).flatMap((job) => job.steps);

  it('may read only, unless a job says otherwise', () => expect(permissions).toEqual({ contents: 'read' }));

  it('runs scripts that exist', () => {
    for (const { run = '' } of steps) {
      for (const [path] of run.matchAll(/\.ci\/\w+/g))
        expect([path, existsSync(join(ROOT, path))]).toEqual([path, true]);
      for (const [, name] of run.matchAll(/npm run ([\w:]+)/g)) expect(Object.keys(scripts)).toContain(name);
    }
  });

  it('takes actions of the platform alone', () => {
    const uses = steps.flatMap((step) => step.uses ?? []);
    expect(uses.filter((name) => !/^actions\/[\w-]+@v\d+$/.test(name))).toEqual([]);
  });
});

interface Form {
  readonly name: string;
  readonly description: string;
  readonly body: readonly {
    readonly type: string;
    readonly id?: string;
    readonly attributes: { readonly label?: string; readonly value?: string };
  }[];
}

it.each(namesIn('.github/ISSUE_TEMPLATE').filter((file) => !file.endsWith('config.yml')))(
  '%s is a form',
  (file) => {
    const { name, description, body } = parse(text(file)) as Form;
    expect([typeof name, typeof description]).toEqual(['string', 'string']);
    const fields = body.filter(({ type }) => type !== 'markdown');
    for (const { type, id, attributes } of fields) {
      expect(['input', 'textarea', 'dropdown', 'checkboxes']).toContain(type);
      expect(id).toMatch(/^[\w-]+$/);
      expect(attributes.label).toBeTruthy();
    }
    expect(new Set(fields.map(({ id }) => id)).size).toBe(fields.length);
  },
);

it('dependency updates look at each lock file of npm', () => {
  const { updates } = parse(text('.github/dependabot.yml')) as { updates: { directories?: string[] }[] };
  for (const folder of updates[0]!.directories!)
    expect([folder, existsSync(join(ROOT, folder, 'package-lock.json'))]).toEqual([folder, true]);
});

it('AGENTS.md has at most 100 lines, and names scripts that exist', () => {
  const agents = text('AGENTS.md');
  expect(agents.split('\n').length).toBeLessThanOrEqual(100);
  for (const [, name] of agents.matchAll(/npm run ([\w:]+)/g)) expect(Object.keys(scripts)).toContain(name);
});

it('llms.txt names each page of the navigation, and llms-full.txt has them', () => {
  const { list, full } = forModels();
  const files = SECTIONS.flatMap(([, entries]) => entries.map(([, file]) => file));
  expect(list.match(/^- \[/gm)).toHaveLength(files.length);
  for (const file of files) expect(full).toContain(`<!-- ${file} -->`);
});
