import { Background } from '../background.js';
import { Clock } from './clock.js';
import type { Sql } from './sql.js';

const LATE_MS = 300;

describe('Clock', () => {
  it('keeps its offset where an answer is read late', async () => {
    const late = [false, true];
    const sql = {
      query: () => {
        const ms = String(Date.now());
        if (late.shift()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LATE_MS);
        return Promise.resolve([{ ms }]);
      },
    };
    const background = new Background();
    const clock = new Clock(sql as unknown as Sql, background);
    await clock.onModuleInit();
    background.onApplicationShutdown();
    expect(Math.abs(clock.now() - Date.now())).toBeLessThan(LATE_MS / 4);
  });
});
