import { readFileSync } from 'node:fs';

/** Resident memory of a process in KiB; NaN except on Linux. */
export function residentMemory(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]);
  } catch {
    return NaN;
  }
}
