import type { Report } from './report.js';

/** For machines; members are only ever added (docs/providers.md). */
export function jsonReport(report: Report): string {
  return JSON.stringify({ version: 1, ...report, error: null }, null, 2);
}

/** The same shape when there is no verdict. @param message why; only its first line is used */
export function jsonFailure(message: string): string {
  const [error] = message.split('\n');
  return JSON.stringify({ version: 1, provider: null, ok: false, results: [], error }, null, 2);
}
