import { forEachLimited } from './last-use.js';

const ITEMS = Array.from({ length: 1000 }, (_, i) => i);

describe('a few at a time', () => {
  it('what fails leaves the others alone', async () => {
    const done: number[] = [];
    const work = async (item: number): Promise<void> => {
      if (item % 3 === 0) throw new Error('its node is away');
      done.push(item);
    };
    await expect(forEachLimited(ITEMS, work)).rejects.toThrow('its node is away');
    expect(done).toHaveLength(666);
  });

  it('ends soon when nothing works', async () => {
    let tried = 0;
    const work = async (): Promise<void> => {
      tried++;
      throw new Error('the database is away');
    };
    await expect(forEachLimited(ITEMS, work)).rejects.toThrow('the database is away');
    expect(tried).toBeLessThan(30);
  });
});
