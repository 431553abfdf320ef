interface Options {
  /** Length of a long run; undefined: the short form. */
  readonly minutes?: number;
  /** Start of all random choices. */
  readonly seed: number;
  /** Of a directory: how many are measured. */
  readonly changes?: number;
  /** File for the recorded history. */
  readonly out?: string;
}

/** Arguments of `npm run lab`, passed on by main.ts. */
export const options: Options = { seed: 1, ...(JSON.parse(process.env['LAB'] ?? '{}') as Partial<Options>) };

export function report(what: string, figure: string | number): void {
  process.stdout.write(`  ${what}: ${figure.toLocaleString('en')}\n`);
}
