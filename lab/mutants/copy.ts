import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { ACTIVE, COVERED, instrument, type Mutant } from './instrument.js';

const JEST = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js'];
const OPTIONS = [
  '--env=./lab/mutants/environment.mjs',
  '--testSequencer=./lab/mutants/sequencer.js',
  '--testTimeout=60000',
  '-w1',
  '--forceExit',
  '--bail',
  '--runTestsByPath',
];
const FAILURE = 'failure'; // written by environment.mjs

interface SpecRun {
  readonly hasPassed: boolean;
  readonly seconds: number;
  /** Spec and test that failed first. */
  readonly failure: readonly string[];
  /** Ids of the mutants that were reached while none was active. */
  readonly covered: readonly string[];
}

/** A copy of the repository in the temporary directory. Its sources and `dist/` have all mutants. */
export class Copy {
  private readonly path = mkdtempSync(join(tmpdir(), 'mutants-'));
  private jest: ChildProcess | undefined;

  /** @returns all mutants of the folders */
  async make(folders: readonly string[], seed: number): Promise<Mutant[]> {
    const filter = (path: string): boolean => {
      const name = basename(path);
      if (name === 'node_modules') symlinkSync(join(process.cwd(), path), join(this.path, path));
      return !['node_modules', '.git'].includes(name) && !['dist', 'data'].includes(path);
    };
    cpSync('.', this.path, { recursive: true, filter });
    writeFileSync(join(this.path, 'test/support/global-setup.ts'), 'export default () => undefined;'); // one PostgreSQL for all
    const mutants = await instrument(this.path, folders, seed);
    const build = ['node_modules/@nestjs/cli/bin/nest.js', 'build'];
    const { status } = spawnSync(process.execPath, build, { cwd: this.path, stdio: 'inherit' });
    if (status !== 0) throw new Error('the sources with mutants cannot be built');
    return mutants;
  }

  /** @returns the specs with a folder of one of these names in their path */
  specs(folders: readonly string[]): string[] {
    const options = { cwd: this.path, encoding: 'utf8' } as const;
    const args = [...JEST, '--listTests', ...folders.map((name) => `/(src|test)/(.*/)?${name}/`)];
    const { stdout } = spawnSync(process.execPath, args, options);
    return stdout
      .split('\n')
      .filter(Boolean)
      .map((path) => relative(this.path, path));
  }

  /**
   * Runs specs until the first failure.
   * @param id of the active mutant; empty for none
   * @param limit in seconds
   */
  async run(id: string, specs: readonly string[], limit: number): Promise<SpecRun> {
    for (const file of [COVERED, FAILURE]) rmSync(join(this.path, file), { force: true });
    writeFileSync(join(this.path, ACTIVE), id);
    if (specs.length === 0) return { hasPassed: true, seconds: 0, failure: [], covered: [] };
    const began = performance.now();
    const args = [...JEST, ...OPTIONS, ...specs];
    // A separate group, so that no service of a failed spec is left behind.
    const jest = spawn(process.execPath, args, { cwd: this.path, stdio: 'ignore', detached: true });
    this.jest = jest;
    const timer = setTimeout(() => this.stop(), limit * 1000);
    const [code] = (await once(jest, 'exit')) as [number | null];
    clearTimeout(timer);
    this.stop();
    return {
      hasPassed: code === 0,
      seconds: Math.round((performance.now() - began) / 1000),
      failure: this.lines(FAILURE),
      covered: this.lines(COVERED),
    };
  }

  /** Ends what runs. The directory is removed with that of the database. */
  stop(): void {
    try {
      if (this.jest) process.kill(-this.jest.pid!, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  private lines(name: string): string[] {
    const path = join(this.path, name);
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  }
}
