import { useEffect, useState } from 'react';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Begins of the times that are counted, by their name in the address. */
const BEGINS: Readonly<Record<string, (now: number) => number>> = {
  '': (now) => now - HOUR,
  today: (now) => new Date(now).setHours(0, 0, 0, 0),
  week: (now) => now - 7 * 24 * HOUR,
};

export const SPANS = [
  ['', 'Last hour'],
  ['today', 'Today'],
  ['week', '7 days'],
] as const;

/** Returns the beginning of a span of time, which moves on every minute. */
export function useBegin(span: string): string {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setNow(Date.now()), MINUTE);
    return () => clearInterval(timer);
  }, []);
  const begin = Object.hasOwn(BEGINS, span) ? BEGINS[span]! : BEGINS['']!;
  return new Date(Math.floor(begin(now) / MINUTE) * MINUTE).toISOString();
}
