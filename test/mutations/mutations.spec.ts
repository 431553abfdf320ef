import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Verdict } from './results.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** A source and a spec: no figure, but a proof that the command kills what is wrong and nothing else. */
describe('npm run test:mutations', () => {
  let folder: string;
  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'latchkey-mutations-'))));
  afterAll(() => rmSync(folder, { recursive: true }));

  async function mutate(source: string, spec: string): Promise<{ output: string; verdicts: Verdict[] }> {
    const file = join(folder, `${basename(source)}.json`);
    const words = [source, '--spec', spec, '--results', file, '--workers', '1', '--list'];
    const script = ['--import', 'tsx', '--conditions=@latchkey/source', 'test/mutations/main.ts', ...words];
    const child = spawn(process.execPath, script, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (part: Buffer) => (output += part.toString()));
    await once(child, 'close');
    const { verdicts } = JSON.parse(readFileSync(file, 'utf8')) as { verdicts: Record<string, Verdict> };
    return { output, verdicts: Object.values(verdicts) };
  }

  it('kills what a spec notices, lists what it cannot, and tries neither again', async () => {
    const [source, spec] = ['src/token/bearer-token.ts', 'src/token/bearer-token.spec.ts'] as const;
    const first = await mutate(source, spec);
    expect(first.output).toContain('src/token/bearer-token.ts: 11 of 13 killed (84.6 %), 2 survived, 0 open');
    const survivors = first.output.match(/^\w{12} src.*$/gm);
    expect(survivors).toHaveLength(2);
    for (const line of survivors!)
      expect(line).toMatch(/StringLiteral: '' → "Stryker was here!" equivalent: no header/);
    for (const { killed, by } of first.verdicts) {
      if (killed) expect(by).toMatch(/^src\/token\/bearer-token\.spec\.ts: a bearer token of /);
    }
    const second = await mutate(source, spec);
    expect(second.output).not.toMatch(/killed of \d+, \d+ s/); // no spec was run
    expect(second.verdicts).toEqual(first.verdicts);
  }, 240_000); // two starts of the command, each with a Jest of its own

  it('has a mutant in what runs when a source is loaded, also where a test loads it late', async () => {
    const { output } = await mutate('src/token/session.sql.ts', 'test/mutations/loaded-late.spec.ts');
    const survivors = output.match(/^\w{12} src.*$/gm)!.join('\n');
    for (const part of ['signed_out_at IS NULL OR', 'NOT EXISTS (', 'expires_at < now()'])
      expect(survivors).not.toContain(`StringLiteral: \`${part}`);
    expect(survivors).toContain('StringLiteral: ` SELECT n.place');
  }, 120_000);
});
