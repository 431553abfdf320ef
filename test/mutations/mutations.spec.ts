import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Verdict } from './results.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const BEARER = 'src/token/bearer-token';

/** One source and its own spec: no figure, but a proof that the command kills what is wrong and nothing else. */
describe('npm run test:mutations', () => {
  let folder: string;
  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'latchkey-mutations-'))));
  afterAll(() => rmSync(folder, { recursive: true }));

  async function mutate(): Promise<{ output: string; verdicts: Verdict[] }> {
    const file = join(folder, 'results.json');
    const words = [
      `${BEARER}.ts`,
      '--spec',
      `${BEARER}.spec.ts`,
      '--results',
      file,
      '--workers',
      '1',
      '--list',
    ];
    const script = ['--import', 'tsx', '--conditions=@latchkey/source', 'test/mutations/main.ts', ...words];
    const child = spawn(process.execPath, script, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (part: Buffer) => (output += part.toString()));
    await once(child, 'close');
    const { verdicts } = JSON.parse(readFileSync(file, 'utf8')) as { verdicts: Record<string, Verdict> };
    return { output, verdicts: Object.values(verdicts) };
  }

  it('kills what a spec notices, lists what it cannot, and tries neither again', async () => {
    const first = await mutate();
    expect(first.output).toContain('src/token/bearer-token.ts: 11 of 13 killed (84.6 %), 2 survived, 0 open');
    const survivors = first.output.match(/^\w{12} src.*$/gm);
    expect(survivors).toHaveLength(2);
    for (const line of survivors!)
      expect(line).toMatch(/StringLiteral: '' → "Stryker was here!" equivalent: no header/);
    for (const { killed, by } of first.verdicts) {
      if (killed) expect(by).toMatch(/^src\/token\/bearer-token\.spec\.ts: a bearer token of /);
    }
    const second = await mutate();
    expect(second.output).not.toMatch(/killed of \d+, \d+ s/); // no spec was run
    expect(second.verdicts).toEqual(first.verdicts);
  }, 240_000); // two starts of the command, each with a Jest of its own
});
