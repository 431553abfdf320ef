import { spawnSync } from 'node:child_process';
import { CHROMIUM } from '../support/chromium.js';
import { PROGRAMS } from '../support/installed.js';

/** Programs that experiments need beside Node.js, and the specs that would be skipped without. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  'redis-server': [
    'test/proof/histories.spec.ts',
    'test/proof/planted-faults.spec.ts',
    'test/proof/world/world.spec.ts',
    'test/proof/neighbours/limits.spec.ts',
    'test/attacks/redis-messages.spec.ts',
    'test/rate-limit.spec.ts',
    'test/realtime-cluster.spec.ts',
  ],
  [CHROMIUM]: ['test/proof/sdk-storm.spec.ts'],
  taskset: ['test/proof/neighbours.spec.ts'],
  openssl: ['test/provider-connections.spec.ts'],
};

/**
 * What is not there of what a full run needs.
 * @param specs as Jest takes them: regular expressions of paths
 */
export function missingFor(specs: readonly string[], isThere = runs): string[] {
  const needed = Object.keys(NEEDS).filter((program) =>
    NEEDS[program]!.some((path) => specs.some((spec) => new RegExp(spec).test(path))),
  );
  return needed.filter((program) => !isThere(program));
}

function runs(program: string): boolean {
  return !spawnSync(program, ['--version'], { env: { PATH: PROGRAMS }, stdio: 'ignore' }).error;
}
