import type { Evidence } from './evidence.js';

/** Requirement for a provider (spec §4.5, §7.3), or good practice. */
export interface Rule {
  /** Stable name, for `--json`. */
  readonly id: string;
  /** Clause of the specification or of an RFC. */
  readonly clause: string;
  readonly title: string;
  /** `advice` goes beyond the specification, and does not fail the check. */
  readonly level: 'required' | 'advice';
  run(evidence: Evidence): Finding;
}

/** A rule's verdict, what was seen, and how to mend a failure. No secrets, no codes, no personal data. */
export type Finding =
  | { readonly verdict: 'pass' | 'skipped'; readonly seen: string }
  | { readonly verdict: 'fail'; readonly seen: string; readonly mend: string };

export function pass(seen: string): Finding {
  return { verdict: 'pass', seen };
}

export function fail(seen: string, mend: string): Finding {
  return { verdict: 'fail', seen, mend };
}

export function skip(why: string): Finding {
  return { verdict: 'skipped', seen: why };
}

const MAX_QUOTE = 80;

/** Text from outside, safe for a terminal: in quotes, short, printable ASCII only. */
export function quote(text: string): string {
  const short = text.length > MAX_QUOTE ? `${text.slice(0, MAX_QUOTE)}...` : text;
  return JSON.stringify(short).replace(/[^\x20-\x7e]/g, '?');
}
