/** How often it is looked at whether this process runs. */
const BEAT_MS = 100;
/** So much later than that, it did not: its machine was stopped, or others had its processors. */
const STANDSTILL_MS = 400;

let beatAt = performance.now();
let stoodStillAt = -Infinity;
setInterval(beat, BEAT_MS).unref();

function beat(): void {
  beatAt = timeNow();
}

/** `performance.now()`, after a look: a standstill that has just ended is not one since then. */
export function timeNow(): number {
  const now = performance.now();
  if (now - beatAt > BEAT_MS + STANDSTILL_MS) stoodStillAt = beatAt = now;
  return now;
}

/** When this process last woke from a standstill, by `performance.now()`: who has not answered by then may not be to blame. */
export function lastWoke(): number {
  timeNow();
  return stoodStillAt;
}

/** @param time of timeNow */
export function stoodStillSince(time: number): boolean {
  return lastWoke() > time;
}

/**
 * Calls `expire` after `ms`, what has arrived by then being read first; where this process stood still meanwhile, after `ms`
 * once more. A plain timer would expire at once when the process wakes, with the answer still to be read.
 *
 * @returns ends it
 */
export function timeLimit(ms: number, expire: () => void): () => void {
  const began = timeNow();
  let reading: NodeJS.Immediate | undefined;
  const readFirst = (): void => void (reading = setImmediate(expire));
  let timer = setTimeout(() => {
    if (stoodStillSince(began)) timer = setTimeout(readFirst, ms);
    else readFirst();
  }, ms);
  return () => {
    clearTimeout(timer);
    clearImmediate(reading);
  };
}
