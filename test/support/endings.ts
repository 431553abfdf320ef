/** Cleanup steps of a test. They run in reverse order, and all of them run even if one fails. */
export class Endings {
  private readonly all: (() => unknown)[] = [];

  /** @returns the thing itself */
  after<Thing>(thing: Thing, end: (thing: Thing) => unknown): Thing {
    this.all.push(() => end(thing));
    return thing;
  }

  get count(): number {
    return this.all.length;
  }

  /**
   * @param from how many of the oldest steps remain
   * @throws the first error, once everything has been tried
   */
  async run(from = 0): Promise<void> {
    const errors: unknown[] = [];
    for (const end of this.all.splice(from).toReversed()) {
      try {
        await end();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
