import { StoredAuditEvent } from '../../src/audit/audit-event.entity.js';
import { Background } from '../../src/platform/background.js';
import { createAuditStore } from '../support/citus.js';
import type { AuditStore } from '../../src/audit/audit.store.js';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SecretKey } from '../../src/platform/config/secrets/secret-key.js';
import type { Settings } from '../../src/platform/config/settings/settings.js';
import type { Clock } from '../../src/platform/database/clock.js';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { Sql, type Statement } from '../../src/platform/database/sql.js';
import { Events, type ServiceState } from '../../src/platform/events.js';
import { KeyCipher, type UnreadableKey } from '../../src/token/keys/key-cipher.js';
import type { KeyLife } from '../../src/token/keys/key-life.js';
import { KeyRing, encodePart } from '../../src/token/keys/key-ring.js';
import { KeyService } from '../../src/token/keys/key.service.js';
import { KeyStore, listKeys } from '../../src/token/keys/key.store.js';
import { SigningKey } from '../../src/token/keys/signing-key.entity.js';
import { createDatabase, unhurriedOptions } from '../support/database.js';
import { use } from '../support/use.js';

const DAY = 86_400;
const [SECRET, OTHER] = [new SecretKey(randomBytes(32)), new SecretKey(randomBytes(32))];

/** Counts the queries. */
class CountingSql extends Sql {
  statements = 0;
  isAway = false;
  private last: Promise<unknown> = Promise.resolve();
  override query<Row extends object>(statement: Statement, values: unknown[]): Promise<Row[]> {
    this.statements++;
    const answer = this.isAway ? Promise.reject(new Error('away')) : super.query<Row>(statement, values);
    this.last = Promise.allSettled([this.last, answer]);
    return answer;
  }
  /** Waits for the answers to all queries so far. */
  async answered(): Promise<void> {
    await this.last;
  }
}

/** KeyStore and KeyService on a database, without a service. */
describe('stored signing keys', () => {
  let dataSource: DataSource;
  let sql: CountingSql;
  let audit: AuditStore;
  afterAll(async () => {
    if (dataSource.isInitialized) await dataSource.destroy();
  });
  const database = use(() => createDatabase());
  beforeEach(async () => {
    const options = {
      ...unhurriedOptions(dataSourceOptions(database.url, 6)),
      entities: [SigningKey, StoredAuditEvent],
    };
    if (!dataSource?.isInitialized) dataSource = await new DataSource(options).initialize();
    sql = new CountingSql(dataSource);
    audit = createAuditStore(dataSource, sql, new Events(), { auditRetentionDays: 90, auditClaims: 'full' });
    await dataSource.query('DELETE FROM signing_keys');
  });

  const storeOf = (secretKey = SECRET, accessTokenTtl = 3600): KeyStore =>
    new KeyStore(dataSource, audit, { secretKey, accessTokenTtl });
  const list = (): Promise<KeyLife[]> => listKeys(new Sql(dataSource));
  const states = async (): Promise<string[]> => (await list()).map(({ state }) => state);
  const rows = (): Promise<unknown[]> => dataSource.query('SELECT * FROM signing_keys ORDER BY kid');
  const query = <Row>(text: string, values: unknown[] = []): Promise<Row[]> => dataSource.query(text, values);
  const aged = (kid: string, seconds: number): Promise<unknown> =>
    query('UPDATE signing_keys SET active_at = now() - make_interval(secs => $2) WHERE kid = $1', [
      kid,
      seconds,
    ]);
  const neverAsked = (error: UnreadableKey): void => {
    throw error;
  };
  /** Makes a key that signs. */
  async function first(store = storeOf()): Promise<string> {
    return (await store.ensureSigningKey(neverAsked))!.kid;
  }
  /** Makes a key that signs, and one before it, which is published. */
  async function two(): Promise<[signing: string, published: string]> {
    const published = await first();
    await aged(published, DAY);
    const { kid } = await storeOf().rotate();
    await aged(kid, 0);
    return [kid, published];
  }

  describe('at the start', () => {
    it('one key is made by concurrent starts, signs at once, and no other is made later', async () => {
      const blocker = dataSource.createQueryRunner();
      await blocker.startTransaction();
      await blocker.query('LOCK TABLE signing_keys IN SHARE MODE'); // it can be read
      const making = Array.from({ length: 4 }, () => storeOf().ensureSigningKey(neverAsked));
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      for (let left = 100; left > 0 && (await query(waiting)).length < making.length; left--);
      await blocker.commitTransaction();
      await blocker.release();
      const made = await Promise.all(making);
      const [key] = await list();
      expect(made.filter(Boolean)).toEqual([{ kid: key!.kid, activeAt: key!.activeAt }]);
      expect(key).toMatchObject({ state: 'signing', tokenTtl: 3600, activeAt: key!.createdAt });
      expect(await storeOf().ensureSigningKey(neverAsked)).toBeUndefined();
      expect(await list()).toHaveLength(1);
    });

    it('keys of another SECRET_KEY are reported; a callback that throws changes nothing', async () => {
      const [signing] = await two();
      const before = await rows();
      await expect(storeOf(OTHER).ensureSigningKey(neverAsked)).rejects.toMatchObject({
        name: 'UnreadableKey',
        kid: signing,
        message: expect.stringContaining(signing),
      });
      expect(await rows()).toEqual(before);
    });

    it('keys of another SECRET_KEY can be replaced: the next key is removed, the signing one stays published', async () => {
      const [signing, published] = await two();
      const waiting = await storeOf().rotate();
      const emitted: string[] = [];
      const made = await storeOf(OTHER).ensureSigningKey(({ kid }) => void emitted.push(kid));
      expect(emitted).toEqual([waiting.kid, signing]);
      expect((await list()).map(({ kid, state }) => [kid, state])).toEqual([
        [made!.kid, 'signing'],
        [signing, 'published'],
        [published, 'published'],
      ]);
    });
  });

  describe('rotate', () => {
    it('makes the next key, which signs in ten minutes, and no other while that waits', async () => {
      await first();
      const { made, ...next } = await storeOf().rotate();
      const [key] = await list();
      expect([made, next, key!.state]).toEqual([true, { kid: key!.kid, activeAt: key!.activeAt }, 'next']);
      expect(key!.activeAt.getTime() - key!.createdAt.getTime()).toBe(600_000);
      expect(await storeOf().rotate()).toEqual({ ...next, made: false });
      await aged(next.kid, 0);
      expect(await storeOf().rotate()).toMatchObject({ made: true });
      expect(await states()).toEqual(['next', 'signing', 'published']);
    });

    it.each<[ageInSeconds: number | undefined, isDue: boolean]>([
      [undefined, false],
      [90 * DAY - 60, false],
      [90 * DAY, true],
    ])('is due at an age of %s s: %s', async (age, isDue) => {
      if (age !== undefined) await aged(await first(), age);
      const before = await list();
      const made = await storeOf().rotateIfDue();
      expect(made !== undefined).toBe(isDue);
      expect((await list()).slice(isDue ? 1 : 0).map(({ kid }) => kid)).toEqual(before.map(({ kid }) => kid));
      if (made) expect((await list())[0]).toMatchObject({ ...made, state: 'next' });
      expect(await storeOf().rotateIfDue()).toBeUndefined();
    });
  });

  describe('revoke', () => {
    it('of the signing key makes a successor; both changes take effect within a second', async () => {
      const kid = await first();
      await storeOf().rotate(); // it is not known to clients for long enough
      const made = await storeOf().revoke(kid);
      const all = await list();
      const [revoked, successor] = [kid, made!.kid].map((one) => all.find((key) => key.kid === one)!);
      expect(successor!.activeAt).toEqual(made!.activeAt);
      expect(successor!.activeAt.getTime() - successor!.createdAt.getTime()).toBe(700);
      const ends = revoked!.revokedAt!.getTime() - successor!.createdAt.getTime();
      expect(ends).toBeGreaterThan(700);
      expect(ends).toBeLessThanOrEqual(850);
      const before = await rows();
      expect(await storeOf().revoke(kid)).toBeUndefined();
      expect(await rows()).toEqual(before);
    });

    it.each([
      ['is published', 1],
      ['waits', 2],
    ])('of one that %s is at once, and makes no other', async (_state, which) => {
      const kid = [...(await two()), (await storeOf().rotate()).kid][which]!;
      expect(await storeOf().revoke(kid)).toBeUndefined();
      const [row] = await query<{ gone: boolean }>(
        'SELECT revoked_at <= now() AS gone FROM signing_keys WHERE kid = $1',
        [kid],
      );
      expect([row!.gone, (await list()).length]).toEqual([true, 3]);
      expect((await list()).filter(({ revokedAt }) => revokedAt).map((key) => key.kid)).toEqual([kid]);
    });

    it('of a key before its first use leaves the signing key without an end', async () => {
      const signing = await first();
      const { kid } = await storeOf().rotate();
      await query('UPDATE signing_keys SET active_at = now(), revoked_at = now() WHERE kid = $1', [kid]);
      const found = (await list()).find((key) => key.kid === signing);
      expect(found).toMatchObject({ state: 'signing', endsAt: null });
    });

    it('of an unknown key is an error and changes nothing', async () => {
      await first();
      const before = await rows();
      await expect(storeOf().revoke('none')).rejects.toThrow('There is no signing key none.');
      expect(await rows()).toEqual(before);
    });
  });

  it.each<[string, (store: KeyStore, kid: string) => Promise<unknown>]>([
    ['rotate', (store) => store.rotate()],
    ['rotateIfDue', (store) => store.rotateIfDue()],
    ['revoke', (store, kid) => store.revoke(kid)],
  ])('%s makes no key with a SECRET_KEY other than the service has', async (_name, call) => {
    const kid = await first();
    await aged(kid, 90 * DAY);
    const before = await rows();
    await expect(call(storeOf(OTHER), kid)).rejects.toMatchObject({ name: 'UnreadableKey', kid });
    expect(await rows()).toEqual(before);
  });

  // docs/keys.md: a restart may lengthen tokens.
  it('stay published as long as the longest token of any instance lives', async () => {
    const [signing, published] = await two();
    const { kid: next } = await storeOf().rotate();
    const ttls = async (): Promise<unknown> =>
      Object.fromEntries((await list()).map(({ kid, tokenTtl }) => [kid, tokenTtl]));
    await storeOf(SECRET, 5000).ensureTokenTtl(await list());
    expect(await ttls()).toEqual({ [next]: 5000, [signing]: 5000, [published]: 3600 });
    await storeOf(SECRET, 60).ensureTokenTtl(await list());
    expect(await ttls()).toEqual({ [next]: 5000, [signing]: 5000, [published]: 3600 });
    const keys = await list();
    await dataSource.destroy();
    await storeOf(SECRET, 5000).ensureTokenTtl(keys); // sends no query
  });

  describe('encrypted anew', () => {
    it('can be decrypted with the new SECRET_KEY only; a repetition changes nothing', async () => {
      const [signing] = await two();
      expect(await storeOf(OTHER).reencrypt(SECRET)).toBe(2);
      expect(await storeOf(OTHER).ensureSigningKey(neverAsked)).toBeUndefined();
      await expect(storeOf().rotate()).rejects.toMatchObject({ kid: signing });
      const before = await rows();
      expect(await storeOf(OTHER).reencrypt(SECRET)).toBe(0);
      expect(await rows()).toEqual(before);
    });

    it('change nothing if the signing key was stored with a third SECRET_KEY', async () => {
      const [signing] = await two();
      await query('UPDATE signing_keys SET encrypted_private_key = $2 WHERE kid = $1', [
        signing,
        Buffer.alloc(60),
      ]);
      const before = await rows();
      await expect(storeOf(OTHER).reencrypt(SECRET)).rejects.toMatchObject({
        name: 'UnreadableKey',
        kid: signing,
      });
      expect(await rows()).toEqual(before);
    });
  });

  it('are encrypted with a nonce, and decrypted only with SECRET_KEY, kid and all bytes', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const cipher = new KeyCipher(SECRET);
    const encrypted = cipher.encrypt(privateKey, 'a');
    expect(cipher.decrypt({ kid: 'a', encryptedPrivateKey: encrypted }).equals(privateKey)).toBe(true);
    expect(cipher.encrypt(privateKey, 'a').equals(encrypted)).toBe(false);
    const flipped = Buffer.from(encrypted.map((byte, i) => (i === 40 ? byte ^ 1 : byte)));
    for (const bytes of [flipped, encrypted.subarray(0, -1), Buffer.alloc(0)])
      expect(() => cipher.decrypt({ kid: 'a', encryptedPrivateKey: bytes })).toThrow('cannot be decrypted');
    expect(() => cipher.decrypt({ kid: 'b', encryptedPrivateKey: encrypted })).toThrow('cannot be decrypted');
  });

  describe('of an instance', () => {
    let events: Events;
    let emitted: [name: string, kid: string][];
    let now: number;
    let logged: Record<'debug' | 'warn' | 'error', unknown[]>;
    let stops: (() => void)[];
    /** Of the latest service. */
    let ring: KeyRing;
    beforeEach(() => {
      [emitted, stops, now] = [[], [], Date.now()];
      logged = { debug: [], warn: [], error: [] };
      for (const level of ['debug', 'warn', 'error'] as const)
        jest.spyOn(Logger.prototype, level).mockImplementation((what) => void logged[level].push(what));
      events = new Events();
      jest.spyOn(Logger.prototype, 'log').mockImplementation((line: unknown) => {
        const [, kid] = /^Signing key (\S+) was made/.exec(String(line)) ?? [];
        if (kid !== undefined) emitted.push(['made', kid]);
      });
      events.on('key.revoked', ({ kid }) => void emitted.push(['revoked', kid]));
    });
    afterEach(() => {
      for (const stop of stops) stop();
      jest.useRealTimers();
      jest.restoreAllMocks();
    });

    function make(settings: Partial<Settings> = {}): KeyService {
      const clock = { now: () => now } as Clock;
      const all = { secretKey: SECRET, accessTokenTtl: 3600, production: true, ...settings } as Settings;
      ring = new KeyRing();
      const [store, background] = [new KeyStore(dataSource, audit, all), new Background()];
      const service = new KeyService(store, sql, ring, clock, events, all, background);
      stops.push(() => {
        background.onApplicationShutdown();
        service.onApplicationShutdown();
      });
      return service;
    }
    async function start(settings: Partial<Settings> = {}): Promise<KeyService> {
      jest.useFakeTimers({
        doNotFake: ['Date', 'performance', 'hrtime', 'nextTick', 'queueMicrotask', 'setImmediate'],
      });
      const service = make(settings);
      await service.onModuleInit();
      return service;
    }
    /** Waits for the answers to all queries. */
    async function settled(): Promise<void> {
      await sql.answered();
      for (let i = 0; i < 5; i++) await query('SELECT');
    }
    async function pass(ms: number): Promise<void> {
      now += ms;
      jest.advanceTimersByTime(ms);
      await settled();
    }
    const state = (): Partial<ServiceState>[] => {
      const all: Partial<ServiceState>[] = [];
      events.emit('state.requested', (one) => void all.push(one));
      return all;
    };
    const setTime = (kid: string, column: 'active_at' | 'revoked_at', ms: number): Promise<unknown> =>
      query(`UPDATE signing_keys SET ${column} = to_timestamp($2::float8 / 1000) WHERE kid = $1`, [kid, ms]);

    it('the first key is emitted once; metrics get the time of its first use', async () => {
      const service = make();
      expect(state()).toEqual([]);
      await service.onModuleInit();
      const [key] = await list();
      expect(emitted).toEqual([['made', key!.kid]]);
      expect(state()).toEqual([{ signingKeyActiveAt: key!.activeAt.getTime() }]);
      await make().onModuleInit();
      expect(emitted).toHaveLength(1);
      expect(logged).toEqual({ debug: [], warn: [], error: [] });
    });

    it('of another SECRET_KEY prevent the start in production; elsewhere they are replaced with a warning', async () => {
      const kid = await first(storeOf(OTHER));
      await expect(start()).rejects.toMatchObject({ name: 'UnreadableKey', kid });
      await start({ production: false });
      expect(ring.signer!.kid).not.toBe(kid);
      expect(logged.warn).toEqual([expect.stringContaining(kid)]);
    });

    it('are read twice a second: a new key is emitted once, a revocation when it takes effect', async () => {
      const kid = await first();
      await start();
      const { kid: next } = await storeOf().rotate();
      await setTime(kid, 'revoked_at', now + 850);
      await pass(499);
      expect(emitted).toEqual([]);
      await pass(1);
      expect(emitted).toEqual([['made', next]]);
      expect(ring.jwks.keys.map((key) => key.kid)).toEqual([next, kid]);
      await pass(349);
      expect(emitted).toHaveLength(1);
      await pass(1);
      expect(emitted).toEqual([
        ['made', next],
        ['revoked', kid],
      ]);
      expect(ring.revokedKids).toEqual([kid]);
      await pass(500);
      await pass(500);
      expect(emitted).toHaveLength(2);
    });

    it('sign from their exact time on, also between two readings', async () => {
      const kid = await first();
      await start();
      const { kid: next } = await storeOf().rotate();
      await setTime(next, 'active_at', now + 800);
      await pass(500);
      now += 299;
      jest.advanceTimersByTime(299);
      expect(ring.signer!.kid).toBe(kid);
      now += 1;
      jest.advanceTimersByTime(1);
      expect(ring.signer!.kid).toBe(next);
    });

    it('stay in use while the database is unavailable, and are read again afterwards', async () => {
      const kid = await first();
      await start();
      sql.isAway = true;
      await pass(500);
      expect(logged.debug).toEqual([expect.objectContaining({ err: new Error('away') })]);
      expect(ring.signer!.kid).toBe(kid);
      sql.isAway = false;
      const { kid: next } = await storeOf().rotate();
      await pass(500);
      expect(emitted).toEqual([['made', next]]);
    });

    it('are not read after the instance has stopped', async () => {
      await start();
      await start();
      stops[0]!();
      jest.advanceTimersByTime(500); // the other instance reads
      stops[1]!();
      await settled();
      const { statements } = sql;
      await pass(500);
      await pass(500);
      expect(sql.statements).toBe(statements);
    });

    it('of another SECRET_KEY are published but never sign here, and an error is logged', async () => {
      const kid = await first();
      await start();
      const other = await storeOf(OTHER).ensureSigningKey(() => undefined);
      now += 1000;
      await pass(500);
      expect(ring.signer!.kid).toBe(kid);
      expect(ring.jwks.keys.map((key) => key.kid)).toEqual([other!.kid, kid]);
      expect(logged.error).toEqual([expect.stringContaining(other!.kid)]);
    });

    it('are rotated when they are due, which is checked once a minute', async () => {
      jest.useFakeTimers({
        doNotFake: [
          'Date',
          'performance',
          'nextTick',
          'queueMicrotask',
          'setImmediate',
          'setTimeout',
          'clearTimeout',
        ],
      });
      await aged(await first(), 90 * DAY);
      await make().onModuleInit();
      jest.advanceTimersByTime(59_999);
      await settled();
      expect(await states()).toEqual(['signing']);
      jest.advanceTimersByTime(1);
      for (let left = 100; left > 0 && (await states()).length < 2; left--) await settled();
      expect(await states()).toEqual(['next', 'signing']);
      expect(logged.warn).toEqual([]);
      await query(`UPDATE signing_keys SET active_at = active_at - interval '180 days'`);
      await storeOf(OTHER).reencrypt(SECRET); // the next check fails
      jest.advanceTimersByTime(60_000);
      for (let left = 100; left > 0 && logged.warn.length === 0; left--) await settled();
      expect(logged.warn).toEqual([
        expect.objectContaining({
          err: expect.objectContaining({ name: 'UnreadableKey' }),
          msg: expect.stringMatching(/rotated/),
        }),
      ]);
    });

    describe('are read for a token with an unknown kid', () => {
      const token = (kid: string): string => `${encodePart({ alg: 'ES256', typ: 'at+jwt', kid })}.e30.x`;
      let clock: number;
      let service: KeyService;
      beforeEach(async () => {
        clock = 10_000;
        jest.spyOn(performance, 'now').mockImplementation(() => clock);
        service = await start();
        sql.statements = 0;
      });

      it.each([
        [100, false],
        [101, true],
      ])('if the last reading was %i ms ago: %s', async (ms, isRead) => {
        const { kid } = await storeOf().rotate();
        clock += ms;
        expect(await service.learn(token(kid))).toBe(isRead);
        expect(sql.statements).toBe(isRead ? 1 : 0);
        expect(await service.learn(token('another'))).toBe(false);
        expect(sql.statements).toBe(isRead ? 1 : 0);
        if (isRead) expect(service.findPublicKey(token(kid)).type).toBe('public');
        expect(() => service.findPublicKey(token('another'))).toThrow('no key');
      });

      it('but not if the key is known, or the header is not ours', async () => {
        clock += 5000;
        for (const text of [
          token(ring.signer!.kid),
          `${encodePart({ alg: 'ES256', typ: 'at+jwt' })}.e30.x`,
          'x',
        ])
          expect(await service.learn(text)).toBe(false);
        expect(sql.statements).toBe(0);
      });

      it('but not again at once after a failure: forged tokens set no pace', async () => {
        const { kid } = await storeOf().rotate();
        clock += 5000;
        sql.isAway = true;
        for (let i = 0; i < 3; i++) await expect(service.learn(token(kid))).rejects.toThrow('away');
        expect(sql.statements).toBe(1);
        sql.isAway = false;
        clock += 499;
        await expect(service.learn(token(kid))).rejects.toThrow('away');
        expect(sql.statements).toBe(1);
        clock += 1;
        expect(await service.learn(token(kid))).toBe(true);
      });

      it('which succeeds even if the update of token_ttl fails', async () => {
        const { kid } = await storeOf().rotate();
        await query('UPDATE signing_keys SET token_ttl = 60'); // corrected after each reading
        jest.spyOn(dataSource.manager, 'update').mockRejectedValue(new Error('away'));
        clock += 5000;
        expect(await service.learn(token(kid))).toBe(true);
      });

      it('once for concurrent tokens', async () => {
        const { kid } = await storeOf().rotate();
        clock += 5000;
        const found = await Promise.all([kid, kid, 'x'].map((one) => service.learn(token(one))));
        expect([found, sql.statements]).toEqual([[true, true, false], 1]);
      });
    });
  });
});
