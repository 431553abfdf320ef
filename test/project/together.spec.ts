import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runTogether } from '../support/together.js';

const HOOK = 'afterAll(() => undefined);\n';

describe('spec files that share one load of the modules', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'latchkey-together-'));
    write('src/one.spec.ts');
    write('src/room/two.spec.ts', `describe('two', () => {\n  ${HOOK}});\n`);
    write('src/hooked.spec.ts', HOOK);
    write('src/one.ts');
    write('packages/client/node_modules/other/other.spec.ts');
    write('test/three.spec.ts');
    write('test/database/crash.spec.ts');
    write('test/infra/four.spec.ts');
    write('test/together/test-9.spec.ts', "import '../../test/removed.spec.js';\n");
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const write = (path: string, text = ''): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const share = (): string[] => runTogether(root, (path) => path.startsWith('test/infra/'));
  const made = (): string[] => readdirSync(join(root, 'test/together')).toSorted();

  it('are imported once each; with hooks of a whole file, or among the longest, they run alone', () => {
    expect(share()).toEqual(['src/one.spec.ts', 'src/room/two.spec.ts', 'test/three.spec.ts']);
    expect(made()).toEqual(['src-1.spec.ts', 'test-1.spec.ts']);
    const text = made().map((name) => readFileSync(join(root, 'test/together', name), 'utf8'));
    expect(text).toEqual([
      "import '../../src/one.spec.js';\nimport '../../src/room/two.spec.js';\n",
      "import '../../test/three.spec.js';\n",
    ]);
  });

  it('are divided, so that workers have as much to do each', () => {
    for (let i = 0; i < 39; i++) write(`test/more-${i}.spec.ts`);
    expect(share()).toHaveLength(42);
    expect(made()).toEqual(['src-1.spec.ts', 'test-1.spec.ts', 'test-2.spec.ts']);
    const imports = made().flatMap((name) =>
      readFileSync(join(root, 'test/together', name), 'utf8')
        .trim()
        .split('\n'),
    );
    expect(new Set(imports).size).toBe(42);
  });

  it('leave what is there as it is: another run may be reading it', () => {
    share();
    const at = (): number[] => made().map((name) => statSync(join(root, 'test/together', name)).mtimeMs);
    const before = at();
    share();
    expect(at()).toEqual(before);
  });
});
