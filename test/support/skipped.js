const REASON = /\(skipped: needs (.+?)\)/;

/** Prints what the skipped tests of a run need, and how many tests each requirement skipped (one of Jest's `reporters`). */
export default class Skipped {
  /** @param {(text: string) => void} [write] */
  constructor(_config, _options, _context, write = (text) => process.stderr.write(text)) {
    this.write = write;
  }

  onRunComplete(_contexts, { testResults }) {
    const counts = new Map();
    for (const { status, fullName } of testResults.flatMap((file) => file.testResults)) {
      const [, reason] = REASON.exec(fullName) ?? [];
      // Tests that the options -t and --onlyChanged leave out are pending as well: they have no reason.
      if (status !== 'pending' || reason === undefined) continue;
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
    if (counts.size === 0) return;
    const lines = [...counts].toSorted(([, one], [, other]) => other - one);
    this.write('\nSkipped tests, by what they need:\n');
    for (const [reason, count] of lines) this.write(`  ${reason}: ${count} test${count === 1 ? '' : 's'}\n`);
  }
}
