import { readFileSync } from 'node:fs';

/** Of the files that a process may open: the service keeps the rest for its connections to the database and for requests. */
const SHARE = 0.9;

export function withinLimits(sockets: number): number {
  return Math.min(sockets, Math.floor(SHARE * mostFiles()));
}

/** The hard limit, up to which Node.js raises its own. */
function mostFiles(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    return Number(/^Max open files +\S+ +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    return Infinity; // not Linux: connecting tells
  }
}
