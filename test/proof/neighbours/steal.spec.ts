import { isNearStolen, readStolen, Steal, type Slice } from './steal.js';

describe('time that a hypervisor has taken away', () => {
  it('is read from /proc/stat, of all processors', () => {
    const stat = 'cpu  1736346 44810 321887 2409630 4816 0 47809 102184 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n';
    expect(readStolen(stat)).toBe(102_184);
    expect(readStolen('cpu0 1 2 3 4 5 6 7 8 9 10\n')).toBe(0);
  });

  it('leaves out what was due in the same tenth of a second, the one before and the one after', () => {
    const slices = [0, 1, 2, 3, 4].map((i): Slice => ({ from: i, to: i + 1, isStolen: i === 2 }));
    expect(slices.map((_, i) => isNearStolen(slices, i))).toEqual([false, true, true, true, false]);
    expect(isNearStolen(slices, -1)).toBe(false);
  });

  it('is known of each time since the watch began', () => {
    const ticks = [0, 0, 0, 0, 1, 1, 1];
    let time = 1000;
    const steal = new Steal(
      () => ticks.shift()!,
      () => time,
    );
    const times = Array.from({ length: 6 }, () => {
      const due = time;
      time += 100;
      steal.look();
      return due;
    });
    expect(times.map((due) => steal.has(due))).toEqual([false, false, true, true, true, false]);
    expect(steal.untouchedSince(1000)).toBe(300); // the first, the second and the last
    expect(steal.untouchedSince(times[2]!)).toBe(100);
    steal.close();
  });
});
