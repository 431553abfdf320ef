import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { needs } from '../support/installed.js';
import { underMadeUpTokens } from './made-up-tokens.js';
import { againstTheService, type Api, type ApiOptions, startProgram, ROOT } from './real-service.js';

const DIRECTORY = join(ROOT, 'verifiers/go');
/** As in its go.mod. */
const OLDEST = 25;
const [, minor] = /go1\.(\d+)/.exec(spawnSync('go', ['version'], { encoding: 'utf8' }).stdout ?? '') ?? [];
const hasGo = process.env['CI'] !== undefined || Number(minor) >= OLDEST;

/** verifiers/go. */
needs({ [`Go 1.${OLDEST}`]: hasGo }).describe('the verifier in Go', () => {
  const programs = mkdtempSync(join(tmpdir(), 'latchkey-go-'));
  const api = join(programs, 'api');
  afterAll(() => rmSync(programs, { recursive: true, force: true }));

  const go = (...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync('go', args, { cwd: DIRECTORY, encoding: 'utf8' });
    expect([status, status === 0 ? '' : stdout + stderr]).toEqual([0, '']);
    return stdout;
  };

  it('does what the vectors say, has no data race, and `go vet` is content', () => {
    go('vet', './...', './testdata/api');
    expect(go('test', '-count=1', '-race', '-v', './...').match(/^ +--- PASS/gm)!.length).toBeGreaterThan(
      150,
    );
  });

  const start = (options: ApiOptions): Promise<Api> => {
    go('build', '-o', api, './testdata/api');
    return startProgram([api], DIRECTORY, options);
  };
  againstTheService('Go', start);
  underMadeUpTokens('Go', start);
});
