const EVERY_MS = 20;

/**
 * How busy this machine is while something happens that the contract limits: a limit is of the service, not of a machine that
 * runs three test files, browsers and databases at once.
 *
 * @returns the milliseconds by which a timer was late at worst since then; ends the watch
 */
export function watchLateness(): () => number {
  let [last, worst] = [performance.now(), 0];
  const look = (): void => {
    const now = performance.now();
    worst = Math.max(worst, now - last - EVERY_MS);
    last = now;
  };
  const timer = setInterval(look, EVERY_MS).unref();
  return () => {
    look();
    clearInterval(timer);
    return worst;
  };
}
