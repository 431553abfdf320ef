/** Does something at a due time, by `performance.now()`. */
export type Work = (due: number) => Promise<void>;

const TICK_MS = 5;

/**
 * Begins work at a steady rate, whatever the answers take (an open loop): kinds in turn by their share, spread as evenly as whole
 * numbers allow.
 *
 * @param onFailure of work that rejects
 * @returns what ends it; resolves when nothing is under way
 */
export function startSchedule(
  perSecond: number,
  shares: readonly (readonly [number, Work])[],
  onFailure: (error: Error) => void,
): () => Promise<void> {
  const all = shares.reduce((sum, [share]) => sum + share, 0);
  const credits = shares.map(() => 0);
  const underWay = new Set<Promise<void>>();
  const began = performance.now();
  let sent = 0;
  const next = (): Work => {
    shares.forEach(([share], i) => (credits[i]! += share));
    const chosen = credits.indexOf(Math.max(...credits));
    credits[chosen]! -= all;
    return shares[chosen]![1];
  };
  const timer = setInterval(() => {
    for (; sent < ((performance.now() - began) * perSecond) / 1000; sent++) {
      const work = next()(began + (sent * 1000) / perSecond).catch(onFailure);
      underWay.add(work);
      void work.finally(() => underWay.delete(work));
    }
  }, TICK_MS);
  return async () => {
    clearInterval(timer);
    await Promise.all(underWay);
  };
}
