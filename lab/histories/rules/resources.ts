import { addTo } from '../groups.js';
import type { HistoryEntry, Rows, Sample } from '../operation.js';
import type { Sessions } from '../sessions.js';
import type { Violation } from '../violation.js';

/** After the last client an instance has no more open files than before the first, but for some connections to the database. */
const FILES = 20;
/** MiB that an instance may need more after the last client than before the first. */
const MEMORY = 250;
/** MiB by which memory may grow in a part of at least so many milliseconds without a fault. */
const GROWTH = 24;
const GROWTH_PART_MS = 5 * 60_000;
/** Seconds after which expired rows are gone: `REMOVAL` looks each minute. */
const REMOVED_AFTER_S = 180;

/** Memory, open files and sockets of instances, and rows of tables: no more than the history explains. */
export function* usesTooMuch(entries: readonly HistoryEntry[], sessions: Sessions): Generator<Violation> {
  const samples = entries.filter((entry) => entry.kind === 'sample');
  const violation = (text: string, ...shown: HistoryEntry[]): Violation => ({
    rule: 'uses too much',
    text,
    entries: shown,
  });
  const idle = samples.filter(({ when }) => when === 'idle');
  for (const end of samples.filter(({ when }) => when === 'end')) {
    const before = idle.find(({ instance }) => instance === end.instance)!;
    if (end.sockets > 0) yield violation(`${end.sockets} sockets without a client`, end);
    if (end.files > before.files + FILES)
      yield violation(`${end.files} open files, ${before.files} before`, before, end);
    if (end.memory > before.memory + MEMORY)
      yield violation(`${end.memory.toFixed(0)} MiB, ${before.memory.toFixed(0)} before`, before, end);
  }
  const level = new Map<number, Sample[]>();
  for (const one of samples) if (one.when === 'level') addTo(level, one.pid, one);
  for (const all of level.values()) {
    const third = Math.floor(all.length / 3);
    if (all.at(-1)!.ended - all[0]!.begun < GROWTH_PART_MS || third === 0) continue;
    const growth = mean(all.slice(-third)) - mean(all.slice(third, 2 * third)); // the first third is a warm-up
    if (growth > GROWTH) yield violation(`memory grows by ${growth.toFixed(0)} MiB`, all[0]!, all.at(-1)!);
  }
  for (const rows of entries)
    if (rows.kind === 'rows')
      for (const [table, most] of Object.entries(mostRows(entries, sessions, rows.begun)))
        if (rows[table as 'devices'] > most) yield violation(`more than ${most} rows: ${table}`, rows);
}

/** Rows that acknowledged calls and calls without an answer can have left at a moment. */
function mostRows(
  entries: readonly HistoryEntry[],
  { lives }: Sessions,
  now: number,
): Omit<Rows, 'kind' | 'begun' | 'ended'> {
  const most = { open_sessions: 0, access_tokens: 0, devices: 0 };
  const devices = new Set<string>();
  for (const { ended } of lives.values()) most.open_sessions += Number(!ended);
  for (const entry of entries) {
    if (!('outcome' in entry) || entry.outcome === 'refused') continue;
    const isUnknown = entry.outcome === 'unknown';
    if (entry.kind === 'sign-in') {
      most.open_sessions += Number(isUnknown);
      if (entry.device !== null) devices.add(`${entry.code.split('.', 1)[0]} ${entry.device}`);
    }
    if (entry.kind === 'sign-in' || entry.kind === 'refresh') {
      const life = (entry.issued?.expiresIn ?? 3600) + REMOVED_AFTER_S;
      most.access_tokens += Number(entry.ended > now - life * 1000);
    }
  }
  return { ...most, devices: devices.size };
}

function mean(samples: readonly Sample[]): number {
  return samples.reduce((sum, { memory }) => sum + memory, 0) / samples.length;
}
