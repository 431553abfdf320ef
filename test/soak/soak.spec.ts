import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cleanup } from '../../bench/cleanup.js';
import { createDatabase } from '../support/database.js';
import { hasRedis, RedisServer } from '../support/redis-server.js';
import { namesOf } from './series.js';
import { soak } from './soak.js';

const MINUTES = 0.15;
/** What a machine that runs other tests as well may cause: a database that takes too long, for requests and handshakes. */
const BUSY = /is unavailable|socket: |a handshake failed/;

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
    const load = {
      users: 4,
      perSecond: 50,
      sockets: 12,
      sampleEveryMs: 1000,
      windowMinutes: 5,
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
    const { latencies, counts } = reports[0]!;
    for (const kind of ['refresh', 'sign-in', 'GET /me', 'push', 'connect', 'refused', 'refused handshake'])
      expect(latencies[kind]?.count).toBeGreaterThan(0);
    expect(counts['events received']).toBeGreaterThan(0);
    expect(samples.length).toBeGreaterThan(0);
    for (const name of namesOf(samples))
      for (const { values } of [before, ...samples, after])
        expect([name, Number.isFinite(values[name])]).toEqual([name, true]);
    for (const name of ['access_tokens', 'refresh_tokens', 'devices', 'channel_events'])
      expect(after.values[`rows ${name}`]).toBeGreaterThan(0);
    expect([after.values['a sockets'], after.values['b sockets'], after.values['a streams']]).toEqual([
      0, 0, 0,
    ]);
  }, 180_000); // half a minute, and what the other tests that begin with it leave of the machine
});
