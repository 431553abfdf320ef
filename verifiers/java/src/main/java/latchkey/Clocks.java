package latchkey;

import java.util.function.LongSupplier;

/** Milliseconds by two clocks: one that runs while the machine sleeps, and one that cannot be set back. */
record Clocks(LongSupplier wall, LongSupplier steady) {
  static final Clocks OF_THE_MACHINE =
      new Clocks(System::currentTimeMillis, () -> System.nanoTime() / 1_000_000);

  record Moment(long wall, long steady) {}

  Moment now() {
    return new Moment(wall.getAsLong(), steady.getAsLong());
  }

  long since(Moment moment) {
    return Math.max(wall.getAsLong() - moment.wall, steady.getAsLong() - moment.steady);
  }
}
