import type { Figure } from '../support/proof.js';

/**
 * What SECURITY.md promises, and the specs that show each: `npm run test:proof -- promises` runs them, beside the experiments of this
 * folder, which show the same under faults. What they report (`reportPromise`) is the table of the promises in docs/reliability.md.
 * `test/security-document.spec.ts` compares both documents with it.
 */
export const PROMISES: Readonly<Record<string, readonly string[]>> = {
  P1: ['test/races.spec.ts'],
  P2: ['test/attacks/mix-up.spec.ts', 'test/oauth2.spec.ts', 'test/provider.spec.ts'],
  P3: ['test/races.spec.ts'],
  P4: ['test/crash.spec.ts', 'test/shared-statements.spec.ts', 'test/standby.spec.ts'],
  P5: ['test/secrets.spec.ts'],
  P6: ['test/access.spec.ts', 'test/backchannel-logout.spec.ts', 'test/dpop.spec.ts'],
  P7: ['test/key-rotation.spec.ts'],
  P8: ['test/realtime-cluster.spec.ts', 'test/realtime-revoked.spec.ts'],
  P9: ['test/realtime-cluster.spec.ts', 'test/hints.spec.ts'],
  P10: ['test/outage.spec.ts', 'test/attacks/frozen-database.spec.ts'],
  P11: ['test/crash.spec.ts'],
  P12: [
    'test/provider-http.spec.ts',
    'test/provider.spec.ts',
    'test/provider-connections.spec.ts',
    'test/attacks/proxy.spec.ts',
  ],
  P13: ['test/sign-in.spec.ts', 'test/provider.spec.ts'],
  P14: ['test/rate-limit.spec.ts', 'test/attacks/', 'test/realtime-limits.spec.ts'],
};

/** By the numbers of the promises, since specs run in another order; all other figures come first, in the order in which they came. */
export function byPromise(one: Figure, other: Figure): number {
  return numberOf(one) - numberOf(other);
}

function numberOf({ part, what }: Figure): number {
  return part === 'promises' ? Number(/^P(\d+):/.exec(what)![1]) : 0;
}
