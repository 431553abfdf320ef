import 'reflect-metadata';
import { runCommand } from '#check-provider';

/** `latchkey check-provider` (contract §1). @returns the exit code: 0 all rules hold, 1 a rule fails, 2 could not run */
export function runCheckProvider(argv: readonly string[]): Promise<number> {
  return runCommand('latchkey check-provider', argv, {
    // Loaded only if needed: the rules of the contract need nothing of the service.
    named: async (options) => (await import('./check-provider.js')).checkNamed(options),
    issuer: async (options) => (await import('./check-provider.js')).checkIssuer(options),
  });
}
