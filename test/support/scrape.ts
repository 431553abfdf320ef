/** One line of Prometheus' text format. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What a scrape says: `# HELP` and `# TYPE` of each metric, and the samples. */
export class Scrape {
  readonly help = new Map<string, string>();
  readonly type = new Map<string, string>();
  readonly samples: readonly Sample[];

  /** @throws Error if a line is not of the format */
  constructor(text: string) {
    const samples: Sample[] = [];
    for (const line of text.split('\n')) {
      const [, kind, name, rest] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
      if (kind === 'HELP') this.help.set(name!, rest!);
      else if (kind === 'TYPE') this.type.set(name!, rest!);
      else if (line !== '') samples.push(sampleOf(line));
    }
    this.samples = samples;
  }

  /** Names of the series. */
  get names(): ReadonlySet<string> {
    return new Set(this.samples.map(({ name }) => name));
  }

  /** Sum of the samples with a name and labels; undefined without any. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const found = this.samples.filter(
      (sample) =>
        sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    );
    return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
  }

  /** The labels of a metric, but for `le`, as far as it has samples. */
  labelsOf(metric: string): string[] {
    const ofIt = this.samples.filter(
      ({ name }) => name.replace(/_(bucket|sum|count)$/, '') === metric || name === metric,
    );
    return [...new Set(ofIt.flatMap(({ labels }) => Object.keys(labels)))]
      .filter((label) => label !== 'le')
      .toSorted();
  }
}

function sampleOf(line: string): Sample {
  const [, name, inner = '', value] = /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? [];
  if (name === undefined) throw new Error(`not a sample: ${line}`);
  const labels = [...inner.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)/gi)].map(([, key, text]) => [
    key!,
    text!,
  ]);
  return { name, labels: Object.fromEntries(labels) as Record<string, string>, value: Number(value) };
}
