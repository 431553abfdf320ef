import type { Refresh } from '../../support/storm.js';
import { waitOf } from './refreshes.js';

const refresh = (due: number, took: number, status = 200, isNew = false): Refresh => [
  due,
  took,
  status,
  isNew,
  1,
  status === 200 ? '' : 'why',
];

describe('what refreshes waited for', () => {
  it('counts from when each was due, on connections that are kept', () => {
    const all = [refresh(1, 4), refresh(2, 9), refresh(3, 500, 200, true)];
    expect(waitOf(all, () => false)).toMatchObject({ count: 3, leftOut: 0, max: 10, late: 1, failed: {} });
  });

  it('leaves out what was due in stolen time, and tells its failures apart', () => {
    const all = [
      refresh(1, 4),
      refresh(2, 9, 503),
      refresh(7, 500),
      refresh(8, 900, 500),
      refresh(8, 1, 500),
    ];
    const { failed, failedLeftOut, ...wait } = waitOf(all, (due) => due > 5);
    expect(wait).toMatchObject({ count: 5, leftOut: 3, max: 10 });
    expect(failed).toEqual({ '503 why': 1 });
    expect(failedLeftOut).toEqual({ '500 why': 2 });
  });
});
