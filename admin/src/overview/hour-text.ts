import { LOCALE } from '../parts/locale.js';

const HOUR = 3_600_000;

const clock = new Intl.DateTimeFormat(LOCALE, { hour: 'numeric', minute: '2-digit' });
const day = new Intl.DateTimeFormat(LOCALE, { weekday: 'short', day: 'numeric' });

/** An hour from its beginning to its end. @param hour its beginning */
export function hourText(hour: string): string {
  const begin = new Date(hour);
  return `${day.format(begin)}, ${clock.format(begin)}–${clock.format(Date.parse(hour) + HOUR)}`;
}

/** Filters of the trail for an hour. */
export function withinHour(hour: string): { since: string; until: string } {
  return { since: hour, until: new Date(Date.parse(hour) + HOUR).toISOString() };
}
