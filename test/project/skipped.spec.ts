import { readdirSync, readFileSync } from 'node:fs';

const REPORTER: string = '../support/skipped.js'; // no types: Jest loads it as it is
const { default: Skipped } = (await import(REPORTER)) as {
  default: new (...args: [object, object, object, (text: string) => void]) => {
    onRunComplete(contexts: object, results: object): void;
  };
};

const ROOT = new URL('../../', import.meta.url);
const FOLDERS = ['src', 'test', 'packages'];

describe('skipped tests', () => {
  it('are counted at the end of a run by what they need; tests that the command line leaves out are not', () => {
    let text = '';
    const reporter = new Skipped({}, {}, {}, (more) => void (text += more));
    const pending = (fullName: string) => ({ status: 'pending', fullName });
    const [one, other] = [
      pending('hints (skipped: needs redis-server) arrive'),
      pending('the page (skipped: needs chromium) opens'),
    ];
    const files = [
      [one, pending('a name that -t does not have')],
      [one, other],
      [{ ...one, status: 'passed' }],
    ];
    reporter.onRunComplete({}, { testResults: files.map((testResults) => ({ testResults })) });
    expect(text).toBe('\nSkipped tests, by what they need:\n  redis-server: 2 tests\n  chromium: 1 test\n');
  });

  it('without any, nothing is printed', () => {
    const write = (): never => {
      throw new Error('printed');
    };
    new Skipped({}, {}, {}, write).onRunComplete({}, { testResults: [{ testResults: [] }] });
  });

  it('say what they need: by needs() of test/support/installed.ts alone', () => {
    const specs = FOLDERS.flatMap((folder) =>
      readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' }).map(
        (name) => `${folder}/${name}`,
      ),
    ).filter((path) => path.endsWith('.spec.ts') && !path.includes('node_modules'));
    expect(specs.length).toBeGreaterThan(200);
    const skips = /\b(?:x?(?:describe|it|test)\.skip|x(?:describe|it|test))\b/;
    expect(specs.filter((path) => skips.test(readFileSync(new URL(path, ROOT), 'utf8')))).toEqual([]);
  });
});
