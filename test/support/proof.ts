/** Whether specs run with the figures that SECURITY.md promises (`PROOF=1`); other runs take a fraction of them. */
export const isFull = process.env['PROOF'] === '1';

/** Prints a figure of a promise; only in full, because a short run reaches a fraction of what was promised. */
export function reportPromise(promise: `P${number}`, what: string, figure: string, wanted: string): void {
  if (isFull) process.stdout.write(`  ${promise}: ${what}: ${figure} (wanted: ${wanted})\n`);
}
