export const HOUR_MS = 3_600_000;

/** Sign-ins, or refusals with an error, of one hour and provider. */
export interface CountedRow {
  /** Begin of the hour; milliseconds since the epoch, as all times here. */
  readonly hour: number;
  readonly event: 'sign_in' | 'sign_in_refused';
  /** Null: unknown, or no longer configured. */
  readonly provider: string | null;
  readonly error: string | null;
  readonly events: number;
  readonly last: number;
}

/** Errors that are distinguished in an hour, of one provider; clients may report any. */
const MOST_ERRORS = 30;
const OTHER = 'other';

/** Rows by hour, event, provider and error; its size does not depend on the number of sign-ins. */
export class SignInTallies {
  private readonly hours = new Map<number, Map<string, CountedRow>>();

  constructor(rows: Iterable<CountedRow> = []) {
    this.add(rows);
  }

  add(rows: Iterable<CountedRow>): void {
    for (const row of rows) {
      const hour = this.hours.get(row.hour) ?? new Map<string, CountedRow>();
      this.hours.set(row.hour, hour);
      const key = (error: string | null): string => JSON.stringify([row.event, row.provider, error]);
      const isNew = !hour.has(key(row.error));
      const ofProvider = [...hour.values()].filter(({ provider }) => provider === row.provider);
      const error = isNew && ofProvider.length >= MOST_ERRORS ? OTHER : row.error;
      const known = hour.get(key(error));
      const events = row.events + (known?.events ?? 0);
      hour.set(key(error), { ...row, error, events, last: Math.max(row.last, known?.last ?? 0) });
    }
  }

  dropBefore(time: number): void {
    for (const hour of this.hours.keys()) if (hour < time) this.hours.delete(hour);
  }

  sum(event: CountedRow['event'], hour: number): number {
    const rows = [...(this.hours.get(hour)?.values() ?? [])];
    return rows.reduce((sum, row) => sum + (row.event === event ? row.events : 0), 0);
  }

  refusals(since: number, most: number): { error: string; count: number }[] {
    const counts = new Map<string, number>();
    for (const { hour, event, error, events } of this.rows()) {
      if (event === 'sign_in' || hour < since) continue;
      const name = error ?? OTHER;
      counts.set(name, (counts.get(name) ?? 0) + events);
    }
    const all = [...counts].map(([error, count]) => ({ error, count }));
    return all.toSorted((one, other) => other.count - one.count).slice(0, most);
  }

  /** Returns times of the last sign-in and the last refusal of a provider; 0: none. */
  last(provider: string): { successAt: number; failureAt: number; error: string | null } {
    const last = { successAt: 0, failureAt: 0, error: null as string | null };
    for (const row of this.rows()) {
      if (row.provider !== provider) continue;
      if (row.event === 'sign_in') last.successAt = Math.max(last.successAt, row.last);
      else if (row.last > last.failureAt) [last.failureAt, last.error] = [row.last, row.error];
    }
    return last;
  }

  *rows(): Generator<CountedRow> {
    for (const hour of this.hours.values()) yield* hour.values();
  }
}
