let clock: { now(): number } = Date;
let second = NaN;
let text = '';

/**
 * From now on the `Date` of every answer is by this clock: clients whose own is wrong correct theirs by it (contract §5). There is
 * one for the process, as Node.js has one.
 *
 * @param shared `now()` in milliseconds since the epoch
 */
export function tellTimeOf(shared: { now(): number }): void {
  clock = shared;
}

/** The value of a `Date` header (RFC 9110 §6.6.1), made once a second. */
export function answerDate(): string {
  const present = Math.floor(clock.now() / 1000);
  if (present !== second) {
    second = present;
    text = new Date(present * 1000).toUTCString();
  }
  return text;
}
