import { statfsSync } from 'node:fs';
import { BYTES_A_SESSION } from './fill.js';

const SPARE = 10e9; // PostgreSQL's own, and what it logs

/** @throws Error when the disk has no room for so many sessions */
export function roomFor(sizes: readonly number[]): void {
  const needed = SPARE + BYTES_A_SESSION * sizes.reduce((sum, size) => sum + size, 0);
  const { bavail, bsize } = statfsSync('.');
  if (bavail * bsize > needed) return;
  const gigabytes = (bytes: number): string => (bytes / 1e9).toFixed(0);
  throw new Error(`${gigabytes(needed)} GB of disk are needed, ${gigabytes(bavail * bsize)} are free`);
}
