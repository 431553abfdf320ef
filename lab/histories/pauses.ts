import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import type { Stall } from './operation.js';
import type { Recorder } from './recorder.js';

const LOOK_EVERY_MS = 50;
/** A pause of a process, or the time of a commit: as long a delay of an answer says nothing about the service. */
const STALL_MS = 100;
/** Prints by how much its timer is late. */
const CONTROL = `
  let last = performance.now();
  setInterval(() => {
    const now = performance.now();
    if (now - last > ${LOOK_EVERY_MS + STALL_MS}) console.log(now - last);
    last = now;
  }, ${LOOK_EVERY_MS});
  process.stdin.on('end', () => process.exit()).resume();`;

/**
 * Records pauses of the machine, by three controls that do not use the service: a timer of this process, a timer of another process,
 * and commits of the database. Without them a busy machine would look like a late service.
 * @param commit resolves after a commit
 * @returns a function that ends it
 */
export function recordPauses(recorder: Recorder, commit: () => Promise<unknown>): () => Promise<void> {
  const over = new AbortController();
  const add = (of: Stall['of'], begun: number): void =>
    recorder.record({ kind: 'stall', of, begun, ended: performance.now() });

  let last = performance.now();
  const timer = setInterval(() => {
    if (performance.now() - last > LOOK_EVERY_MS + STALL_MS) add('this process', last);
    last = performance.now();
  }, LOOK_EVERY_MS);

  const child = spawn(process.execPath, ['-e', CONTROL], { stdio: ['pipe', 'pipe', 'inherit'] });
  createInterface({ input: child.stdout }).on('line', (line) => {
    add('another process', performance.now() - Number(line));
  });

  const commits = (async () => {
    while (!over.signal.aborted) {
      const begun = performance.now();
      await commit().catch(() => undefined); // a fault is on
      if (performance.now() - begun > STALL_MS) add('a commit', begun);
      await delay(LOOK_EVERY_MS * 5);
    }
  })();

  return async () => {
    over.abort();
    clearInterval(timer);
    child.stdin.end();
    await Promise.all([once(child, 'exit'), Promise.race([commits, delay(5000, undefined, { ref: false })])]);
  };
}
