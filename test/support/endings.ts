/** Cleanup steps of a test. They run in reverse order, and all of them run even if one fails. */
export class Endings {
  private readonly all: (() => unknown)[] = [];

  /** @returns the thing itself */
  after<Thing>(thing: Thing, end: (thing: Thing) => unknown): Thing {
    this.all.push(() => end(thing));
    return thing;
  }

  /** @throws the first error, once everything has been tried */
  async run(): Promise<void> {
    const errors: unknown[] = [];
    for (const end of this.all.splice(0).toReversed()) {
      try {
        await end();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
