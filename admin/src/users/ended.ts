import { formatNumber } from '../parts/locale.js';

/** What a sign-out has done. */
export function ended(sessions: number): string {
  if (sessions === 0) return 'No session was live any more.';
  return sessions === 1 ? 'One session has ended.' : `${formatNumber(sessions)} sessions have ended.`;
}
