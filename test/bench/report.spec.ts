import { ratioOf, table } from '../../bench/report.js';
import type { Turn } from '../../bench/turn.js';

const turn = (requestsPerSecond: number, serviceCpu?: number): Turn => ({
  requestsPerSecond,
  p50: 1,
  p99: 2.345,
  serviceCpu,
  databaseCpu: undefined,
});

describe("the bench's tables", () => {
  it('takes ratios round by round: one that is disturbed does not move them', () => {
    const yardstick = [turn(1000), turn(400), turn(200)];
    const own = [turn(500), turn(200), turn(1000)];
    expect(ratioOf(own, yardstick)).toBe(0.5);
  });

  it('shows medians, ratios to what it is compared with, and no figure where there is none', () => {
    const floor = { target: 'floor', turns: [turn(100, 10), turn(300, 30)] };
    const own = { target: 'latchkey', turns: [turn(50, 15), turn(150)] };
    expect(table('W1 refresh', 16, ['floor'], [floor, own]).split('\n')).toEqual([
      'W1 refresh, 16 connections  req/s  / floor  p50 ms  p99 ms  service µs  database µs',
      'floor                         200     1.00    1.00    2.35          20            -',
      'latchkey                      100     0.50    1.00    2.35           -            -',
    ]);
  });
});
