import type { DataSource } from 'typeorm';
import type { ExpiredRows } from './expired-rows.js';
import { removeSlices } from './expired-slices.js';

const CANCELED = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });

/** On Citus (test/database/citus.spec.ts has the cluster). */
describe('expired rows that are removed by their time', () => {
  const END = 1_700_000_100;
  let passedOver: unknown[];
  let startOf: Map<string, string>;
  beforeEach(() => {
    [passedOver, startOf] = [[], new Map()];
  });

  /** @param rows expiries in seconds. @param cannotGo expiries of rows that take too long */
  async function remove(rows: Set<number>, cannotGo: ReadonlySet<number>): Promise<number> {
    const manager = {
      query: async (text: string, [from, to]: [number, number]): Promise<unknown> => {
        if (!text.includes('DELETE')) return [{ is_ours: true }];
        const found = [...rows].filter((at) => at >= from && at < Math.min(END, to));
        if (found.some((at) => cannotGo.has(at))) throw CANCELED;
        for (const at of found) rows.delete(at);
        return [undefined, found.length];
      },
    };
    const dataSource = {
      query: async () => [{ at: Math.min(...rows, END) - 0.001, now: END }],
      transaction: (work: (of: typeof manager) => Promise<unknown>) => work(manager),
    } as unknown as DataSource;
    const table = { table: 't', mayGo: 'true' } as ExpiredRows;
    const rest = () => Promise.resolve();
    return removeSlices(
      dataSource,
      table,
      () => false,
      rest,
      (error) => passedOver.push(error),
      startOf,
    );
  }
  const at = (seconds: number): number => END - 100 + seconds;

  it('go; a moment with rows that cannot be removed is passed over', async () => {
    const rows = new Set([1, 2, 3, 50, 99].map(at));
    expect(await remove(rows, new Set([at(2)]))).toBe(4);
    expect([...rows]).toEqual([at(2)]);
    expect(passedOver).toEqual([CANCELED]);
  });

  it('go in a later run, if a run has ended among many rows that cannot be removed', async () => {
    const cannotGo = new Set(Array.from({ length: 40 }, (_, i) => at(1 + i / 1000)));
    const rows = new Set([...cannotGo, at(90)]);
    for (let runs = 0; rows.has(at(90)) && runs < 6; runs++) await remove(rows, cannotGo).catch(() => 0);
    expect(rows).toEqual(cannotGo);
    expect(startOf.size).toBe(0);
  });
});
