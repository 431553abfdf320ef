import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { needs } from '../support/installed.js';
import { underMadeUpTokens } from './made-up-tokens.js';
import { againstTheService, type Api, type ApiOptions, startProgram, ROOT } from './real-service.js';

const DIRECTORY = join(ROOT, 'verifiers/python');
/** Debian's own, whose packages are Debian's; or that of a virtual environment. */
const PYTHON = process.env['PYTHON'] ?? '/usr/bin/python3';
const hasPython =
  process.env['CI'] !== undefined ||
  spawnSync(PYTHON, ['-c', 'import jwt, cryptography, httpx, pytest']).status === 0;

/** verifiers/python. */
needs({ 'PyJWT, httpx and pytest': hasPython }).describe('the verifier in Python', () => {
  it('does what the vectors say', () => {
    const { status, stdout, stderr } = spawnSync(PYTHON, ['-m', 'pytest', '-q', '-p', 'no:cacheprovider'], {
      cwd: DIRECTORY,
      encoding: 'utf8',
    });
    expect([status, status === 0 ? '' : stdout + stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/\d{3} passed/);
  });

  const start = (options: ApiOptions): Promise<Api> =>
    startProgram([PYTHON, 'tests/api.py'], DIRECTORY, options);
  againstTheService('Python', start);
  underMadeUpTokens('Python', start);
});
