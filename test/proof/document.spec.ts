import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInstalled, needs } from '../support/installed.js';
import { codeOf, figureTable, withPart } from './document.js';

const part = 'p';

it('figures with headings of their own are tables of their own', () => {
  const [measured, ...tables] = figureTable(
    [
      { part, what: 'a', figure: '1', wanted: '≥ 1' },
      { part, what: 'b', figure: { 'p50, ms': '2', ratio: '3' } },
      { part, what: 'c', figure: { 'p50, ms': '4', ratio: '5' }, wanted: '≤ 5' },
      { part, what: 'd', figure: '6' },
    ],
    'npm run x',
    ' (commit 1a2b3c4)',
  ).split('\n\n');
  expect(measured).toMatch(/^Written by `npm run x` on \d{4}-\d\d-\d\d \(commit 1a2b3c4\): /);
  expect(tables).toEqual([
    '|What|Figure|Wanted|\n|---|---|---|\n|a|1|≥ 1|\n|d|6||',
    '|What|p50, ms|ratio|Wanted|\n|---|---|---|---|\n|b|2|3||\n|c|4|5|≤ 5|',
  ]);
});

it('a part is put between its marks, and nowhere else', () => {
  const document = 'before\n<!-- proof:p -->\nold\n<!-- /proof:p -->\nafter';
  expect(withPart(document, part, 'new')).toBe('before\n<!-- proof:p -->\n\nnew\n\n<!-- /proof:p -->\nafter');
  expect(() => withPart(document, 'q', 'new')).toThrow('the document has no place for q');
});

needs({ git: isInstalled('git') }).describe('which code was measured', () => {
  let folder: string;
  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'latchkey-commit-'))));
  afterAll(() => rmSync(folder, { recursive: true }));

  const git = (...args: string[]): string => {
    const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'commit.gpgsign=false'];
    const { status, stdout, stderr } = spawnSync('git', [...who, ...args], { cwd: folder, encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    return stdout.trim();
  };

  it('is said by the commit, and whether more than documents was changed since; where there is no git, nothing is said', () => {
    expect(codeOf(folder)).toBe('');
    git('init', '-q');
    expect(codeOf(folder)).toBe(''); // no commit yet
    git('commit', '-q', '--allow-empty', '-m', 'begin');
    const commit = git('rev-parse', '--short', 'HEAD');
    mkdirSync(join(folder, 'docs'));
    writeFileSync(join(folder, 'docs', 'a.svg'), '');
    expect(codeOf(folder)).toBe(` (commit ${commit})`);
    writeFileSync(join(folder, 'code.ts'), '');
    expect(codeOf(folder)).toBe(` (commit ${commit}, with changes)`);
    expect(codeOf(join(folder, 'nowhere'))).toBe('');
  });
});
