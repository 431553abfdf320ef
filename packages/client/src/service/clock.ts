/** Milliseconds: the resolution of a `Date` header. */
const SECOND = 1000;

/**
 * The service's time: the device's clock may be minutes off, but a proof is accepted for 60 s only
 * (docs/browser-sessions.md#proofs-without-the-sdk).
 */
export type Clock = ReturnType<typeof makeClock>;

export function makeClock() {
  /** Milliseconds by which the service's clock is ahead of the device's. */
  let ahead = 0;
  return {
    /** Returns seconds since the epoch; by the device's clock until the first answer of the service. */
    now: () => (Date.now() + ahead) / 1000,
    /**
     * Adjusts the clock by an answer.
     * @param date the `Date` header of an answer that has just arrived (RFC 9110 §6.6.1)
     * @param took milliseconds since the request was sent, by the device's clock
     */
    set: (date: string | null, took: number): void => {
      const late = Date.now() + ahead - Date.parse(date!); // NaN without a readable header
      // An offset that explains the answer stays as it is: the answer may have been delayed, or the device may have slept.
      if (late < 0 || late > took + SECOND) ahead -= late;
    },
  };
}
