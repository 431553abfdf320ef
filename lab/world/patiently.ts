import { setTimeout as delay } from 'node:timers/promises';

const TIMES = 5;

export async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let time = 1; ; time++) {
    try {
      return await work();
    } catch (error) {
      if (time === TIMES) throw error;
      await delay(1000);
    }
  }
}
