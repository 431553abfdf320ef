import { readFileSync, readdirSync } from 'node:fs';

const TICKS_PER_SECOND = 100; // USER_HZ: fixed in all figures that Linux gives to programs
const MICROSECONDS_PER_TICK = 1e6 / TICKS_PER_SECOND;

/** CPU time, user and system, that a process and its children have used so far, in µs; NaN except on Linux. */
export function cpuTime(pid: number): number {
  const parent = readStat(pid);
  if (!parent) return NaN;
  const children = childrenOf(pid).map(readStat);
  const ticks = children.reduce((sum, child) => sum + (child?.own ?? 0), parent.own + parent.endedChildren);
  return ticks * MICROSECONDS_PER_TICK;
}

/** Resident memory of a process and its children in KiB; NaN except on Linux. */
export function residentMemory(pid: number): number {
  if (!readStat(pid)) return NaN;
  return [pid, ...childrenOf(pid)].reduce((sum, one) => sum + ownMemory(one), 0);
}

function ownMemory(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]);
}

function childrenOf(pid: number): number[] {
  const processes = readdirSync('/proc').map(Number);
  return processes.filter((number) => number > 0 && readStat(number)?.parent === pid);
}

/** In ticks; see proc_pid_stat(5). */
interface Stat {
  readonly parent: number;
  readonly own: number;
  readonly endedChildren: number;
}

function readStat(pid: number): Stat | undefined {
  let line: string;
  try {
    line = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined; // not Linux, or it has just ended
  }
  // The second field is the program's name in parentheses and may hold anything; after it come state (3), ppid (4), …
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  return { parent: field(4), own: field(14) + field(15), endedChildren: field(16) + field(17) };
}
