import { FAULTS } from './faults.js';
import { Nemesis, type Fault, type FaultName } from './nemesis.js';
import { World } from './world.js';

describe('the world and its nemesis', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start({ redis: true });
  });
  afterAll(() => world?.stop());

  it.each(Object.keys(FAULTS) as FaultName[])('%s: all comes back', async (name) => {
    const faults: Fault[] = [];
    await new Nemesis(world, (fault) => faults.push(fault), Math.random).strike(name);
    expect(faults).toEqual([expect.objectContaining({ fault: name })]);
    const [{ begun, undone, ended }] = faults as [Fault];
    process.stdout.write(`${name}: ${undone - begun} ${ended - undone}\n`);
  });
});
