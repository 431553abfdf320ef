import type { KeyLife } from '../token/keys/key-life.js';

interface Line {
  readonly kid: string;
  readonly state: string;
  readonly created_at: string;
  readonly active_at: string;
  readonly revoked_at: string | null;
  /** Null: not known yet. */
  readonly published_until: string | null;
}

const COLUMNS = ['kid', 'state', 'made', 'first use', 'published until'];

/** One JSON array, with times as everywhere else in the service (contract §3). */
export function jsonReport(keys: readonly KeyLife[]): string {
  return `${JSON.stringify(keys.map(lineOf), undefined, 2)}\n`;
}

/** A table for people; times in UTC. */
export function tableReport(keys: readonly KeyLife[]): string {
  if (keys.length === 0)
    return 'There is no signing key yet: the service makes the first one when it starts.\n';
  const rows = keys
    .map(lineOf)
    .map((line) => [
      line.kid,
      line.state,
      short(line.created_at),
      short(line.active_at),
      line.published_until === null ? '-' : short(line.published_until),
    ]);
  const all = [COLUMNS, ...rows];
  const widths = COLUMNS.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function lineOf({ kid, state, createdAt, activeAt, revokedAt, endsAt }: KeyLife): Line {
  return {
    kid,
    state,
    created_at: createdAt.toISOString(),
    active_at: activeAt.toISOString(),
    revoked_at: revokedAt?.toISOString() ?? null,
    published_until: endsAt?.toISOString() ?? null,
  };
}

/** Without the fraction of the second. */
function short(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 19)}`;
}
