import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cleanup } from '../../bench/cleanup.js';
import { createDatabase } from '../support/database.js';
import { hasRedis, RedisServer } from '../support/redis-server.js';
import { KINDS } from './clients/kinds.js';
import type { Report } from './clients/tally.js';
import { LIMITS } from './limits.js';
import { namesOf } from './series.js';
import { soak } from './soak.js';
import { timesOf } from './traffic-verdicts.js';

const MINUTES = 0.13;
/** What a busy machine may cause: statements that take too long, requests that a client gives up, and answers to repeated ones. */
const BUSY =
  /is unavailable|302 temporarily_unavailable|500 Something went wrong|socket(?: that was never ready)?: |a handshake failed|ABORT_ERR|user removed 404|device forgotten 401/;

/** The whole machine of `npm run test:soak` for some seconds: that it runs, and sees what it looks at. */
describe('a soak', () => {
  const cleanup = new Cleanup();
  afterAll(() => cleanup.run());

  it('keeps clients of all kinds going, and all that is looked at has a value', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'latchkey-soak-'));
    cleanup.add(() => rmSync(directory, { recursive: true, force: true }));
    const database = await createDatabase();
    cleanup.add(() => database.drop());
    const redis = hasRedis ? await RedisServer.start() : undefined;
    cleanup.add(() => redis?.kill());
    const log = (): void => undefined;
    const refusals = LIMITS.map((limit) => `beyond ${limit}: refused` as const);
    const wanted = [...KINDS, ...refusals, 'events received'];
    const missing = (reports: readonly Report[]): string[] =>
      wanted.filter((what) => timesOf(reports, what) === 0);
    const load = {
      users: 12,
      stay: 1,
      perSecond: 50,
      beyondPerSecond: 32,
      limit: 10,
      sockets: 12,
      sampleEveryMs: 1000,
      windowMinutes: 5,
      isEnough: (reports: readonly Report[]) => missing(reports).length === 0,
      untilExpired: false,
    };
    const where = { databaseUrl: database.url, redisUrl: redis?.url, directory };
    const { before, samples, after, reports, errors, exitCodes } = await soak(
      { ...where, minutes: MINUTES, log, ...load },
      cleanup,
    );

    const wrong = reports
      .flatMap(({ unexpected }) => Object.keys(unexpected))
      .filter((text) => !BUSY.test(text));
    expect([wrong, errors.filter((text) => !BUSY.test(text)), exitCodes]).toEqual([[], [], [0, 0]]);
    expect(missing(reports)).toEqual([]);
    expect(samples.length).toBeGreaterThan(0);
    for (const name of namesOf(samples))
      for (const { values } of [before, ...samples, after])
        expect([name, Number.isFinite(values[name])]).toEqual([name, true]);
    const tables = namesOf([after]).flatMap((name) => (name.startsWith('rows ') ? [name.slice(5)] : []));
    expect(tables.filter((table) => after.values[`written ${table}`] === 0)).toEqual([]);
    expect([after.values['a sockets'], after.values['b sockets'], after.values['a streams']]).toEqual([
      0, 0, 0,
    ]);
  }, 240_000); // half a minute, and more on a busy machine
});
