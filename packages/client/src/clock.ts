/** Milliseconds: a `Date` header has whole seconds. */
const SECOND = 1000;

/** The service's time: a device's own clock may be minutes off, and a proof is taken for 60 s only (contract §5). */
export interface Clock {
  /** Seconds since the epoch. By the device's clock until the service has told its own. */
  readonly now: () => number;
  /**
   * @param date the `Date` header of an answer that has just come (RFC 9110 §6.6.1)
   * @param took for how long it may have been on its way, by the device's clock; milliseconds
   */
  readonly set: (date: string | null, took: number) => void;
}

export function makeClock(): Clock {
  /** By how much the service's clock is ahead of the device's; milliseconds. */
  let ahead = 0;
  return {
    now: () => (Date.now() + ahead) / 1000,
    set(date, took) {
      const late = Date.now() + ahead - Date.parse(date!); // NaN where there is none, or where no page may read it
      // Not a clock that is right if the answer came at once, nor one that is if the device slept meanwhile.
      if (late < 0 || late > took + SECOND) ahead -= late;
    },
  };
}
