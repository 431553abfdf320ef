import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { needs } from '../support/installed.js';

const SETUP = new URL('../support/global-setup.ts', import.meta.url).href;
const LEFT = '/dev/shm/latchkey-tests-99999999-other'; // above the highest process number of Linux
const NOBODY = 65_534;

/** Whether this account can become another one, which can read this repository. */
const hasOther =
  process.getuid?.() === 0 &&
  existsSync('/dev/shm') &&
  spawnSync('test', ['-r', fileURLToPath(SETUP)], { uid: NOBODY, gid: NOBODY }).status === 0;

needs({ 'root on Linux': hasOther }).it(
  'what a killed run of another account has left in memory does not stop a run',
  () => {
    mkdirSync(LEFT, { mode: 0o755 });
    try {
      writeFileSync(`${LEFT}/file`, '');
      const script = `const { directoryInMemory } = await import('${SETUP}');
        const made = directoryInMemory();
        if (made) (await import('node:fs')).rmSync(made, { recursive: true });`;
      const { status, stderr } = spawnSync(
        process.execPath,
        ['--import', 'tsx', '--input-type=module', '--eval', script],
        {
          cwd: fileURLToPath(new URL('../..', import.meta.url)),
          uid: NOBODY,
          gid: NOBODY,
          env: { PATH: process.env['PATH'], TMPDIR: '/tmp' },
          encoding: 'utf8',
        },
      );
      expect([status, stderr]).toEqual([0, '']);
      expect(existsSync(`${LEFT}/file`)).toBe(true);
    } finally {
      rmSync(LEFT, { recursive: true, force: true });
    }
  },
);
