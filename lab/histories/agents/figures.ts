import type { HistoryEntry } from '../operation.js';
import { PROGRAM_DEVICE } from './program.js';

/** @returns what a history has done with programs, in words */
export function programsOf(entries: readonly HistoryEntry[]): string {
  const sessions = new Set<string>();
  const numbers = new Map<string, number>();
  const count = (what: string): void => void numbers.set(what, (numbers.get(what) ?? 0) + 1);
  for (const entry of entries) {
    if (entry.kind === 'consent') count(`questions ${entry.outcome}`);
    if (entry.kind === 'sign-in' && entry.program) {
      count(`consents ${entry.outcome}`);
      if (entry.issued) sessions.add(entry.issued.session);
    }
    if (entry.kind === 'refresh' && sessions.has(entry.session)) count(`refreshes ${entry.outcome}`);
    const isEnd =
      entry.kind === 'sign-out' && (entry.device === PROGRAM_DEVICE || sessions.has(entry.session ?? ''));
    if (isEnd) count(`ends by ${entry.by} ${entry.outcome}`);
  }
  return [...numbers].map(([what, number]) => `${what}: ${number}`).join(', ');
}
