/** How the text of a setting is read, and the words for what it accepts. */
export interface Kind<T> {
  /** Completes "accepted: …" in a fault. */
  readonly accepts: string;
  /** @throws Refused when the text is not accepted */
  readonly parse: (text: string) => T;
}

/** Thrown by a `Kind`; carries the part that was refused. The message holds no value: it may be a secret. */
export class Refused extends Error {
  constructor(readonly part: string) {
    super('value refused');
  }
}

/** A `Kind` from a function that answers `undefined` for what it refuses. */
export function kind<T>(accepts: string, read: (text: string) => T | undefined): Kind<T> {
  const parse = (text: string): T => {
    const value = read(text);
    if (value === undefined) throw new Refused(text);
    return value;
  };
  return { accepts, parse };
}
