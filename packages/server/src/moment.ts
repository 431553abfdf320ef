/** A moment by both clocks: one that is never set, and one that goes on while the machine sleeps. */
export interface Moment {
  readonly steady: number;
  readonly wall: number;
}

export function thisMoment(): Moment {
  return { steady: performance.now(), wall: Date.now() };
}

/** Milliseconds since then, by the clock that says more. */
export function since({ steady, wall }: Moment): number {
  return Math.max(performance.now() - steady, Date.now() - wall);
}
