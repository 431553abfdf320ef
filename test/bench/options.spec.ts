import { parseOptions } from '../../bench/options.js';

describe('the options of the bench', () => {
  it('has three kinds of run, each with as many sessions as it is about', () => {
    expect(parseOptions([])).toMatchObject({ mode: 'floors', sessions: [100_000], document: false });
    expect(parseOptions(['--peers'])).toMatchObject({ mode: 'peers', sessions: [100_000] });
    expect(parseOptions(['--growth'])).toMatchObject({
      mode: 'growth',
      sessions: [10_000, 1_000_000, 10_000_000],
      parts: ['sessions', 'pushes', 'idle', 'sockets'],
    });
  });

  it('leaves the connections to each workload, unless they are given', () => {
    expect(parseOptions([]).connections).toBeUndefined();
    expect(parseOptions(['--connections', '16,64']).connections).toEqual([16, 64]);
  });

  it.each([
    [['--growth', '--peers'], /runs of their own/],
    [['--sessions', '1,2'], /for --growth/],
    [['--workload', 'W5'], /--workload takes W1, W1P, W2, W3, W4, not W5/],
    [['--growth', '--parts', 'users'], /--parts takes sessions, pushes, idle, sockets, not users/],
    [['--rounds', '0'], /--rounds takes whole numbers/],
    [['--sessions', '1e9'], /--sessions takes whole numbers/],
    [['--sesions', '1'], /sesions/],
  ])('refuses %j', (args, why) => {
    expect(() => parseOptions(args)).toThrow(why);
  });
});
