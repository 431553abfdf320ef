import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { JwtService } from '@nestjs/jwt';
import { DataSource } from 'typeorm';
import type { Settings } from '../../src/platform/config/settings/settings.js';
import type { Clock } from '../../src/platform/database/clock.js';
import type { Declared } from '../../src/platform/declared.js';
import { dataSourceOptions } from '../../src/platform/database/pool/data-source.js';
import { Sql } from '../../src/platform/database/sql.js';
import { Events, type SessionIds } from '../../src/platform/events.js';
import { AccessTokens, type IssuedAccessToken } from '../../src/token/access-tokens/access-token.js';
import { AccessTokenVerifier } from '../../src/token/access-tokens/access-token.verifier.js';
import { type KeyRing, encodePart } from '../../src/token/keys/key-ring.js';
import type { KeyService } from '../../src/token/keys/key.service.js';
import { hashRefreshToken, makeRefreshToken } from '../../src/token/refresh/refresh-token.js';
import { CitusRefreshStore } from '../../src/citus/refresh.store.js';
import { RefreshStore, type Refresh, type Refused } from '../../src/token/refresh/refresh.store.js';
import { NO_CLAIMS } from '../../src/identity/claims.js';
import { createDatabase, unhurriedOptions } from '../support/database.js';
import { use } from '../support/use.js';

const settings = { publicUrl: 'https://id.example', accessTokenTtl: 60 } as Settings;
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const header = encodePart({ alg: 'ES256', typ: 'at+jwt', kid: 'k' });

/** Access tokens as the database knows them, without a service. */
describe('stored access tokens', () => {
  let dataSource: DataSource;
  let events: Events;
  let learned: string[];
  /** What is known of the key by now. */
  let known: boolean;
  const database = use(() => createDatabase());
  beforeEach(async () => {
    dataSource = await new DataSource(unhurriedOptions(dataSourceOptions(database.url, 4))).initialize();
    await dataSource.query('TRUNCATE access_tokens, refresh_tokens');
    [events, learned, known] = [new Events(), [], true];
  });
  afterEach(async () => {
    if (dataSource.isInitialized) await dataSource.destroy();
  });

  const clock = { now: () => Date.now() } as Clock;
  const ring = { signer: { kid: 'k', header, privateKey } } as unknown as KeyRing;
  const keys = (): KeyService =>
    ({
      learn: (token: string) => {
        learned.push(token);
        const isNew = !known;
        known = true;
        return Promise.resolve(isNew);
      },
    }) as unknown as KeyService;
  function store(isDistributed = false, sessionIdleTtl?: number): RefreshStore {
    const sql = new Sql(dataSource, isDistributed, events);
    const Store = isDistributed ? CitusRefreshStore : RefreshStore;
    const accessTokens = new AccessTokens(ring, clock, settings);
    return new Store(sql, accessTokens, clock, { sessionIdleTtl }, { endsEarly: false } as Declared);
  }
  function verifier(): AccessTokenVerifier {
    const jwt = new JwtService({ secretOrKeyProvider: () => (known ? publicKey : '') });
    return new AccessTokenVerifier(jwt, keys(), clock, new Sql(dataSource, false, events), settings);
  }
  const makeProof = (jkt: number, jti = randomUUID()) => ({ jkt: Buffer.alloc(32, jkt), jti });

  /** @param jkt of the key that it is bound to */
  async function begin(jkt?: number, deviceId: string | null = null): Promise<Refresh> {
    const session: SessionIds = { userId: randomUUID(), sessionId: randomUUID(), deviceId };
    const key = jkt === undefined ? null : Buffer.alloc(32, jkt);
    const refreshToken = makeRefreshToken(session, key !== null);
    await dataSource.query(
      `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, jkt, expires_at)
       VALUES ($1, $2, $3, $4, $5, now() + interval '1 day')`,
      [session.userId, session.sessionId, deviceId, hashRefreshToken(refreshToken, key), key],
    );
    return {
      refreshToken,
      session,
      claims: NO_CLAIMS,
      proof: jkt === undefined ? undefined : makeProof(jkt),
      idleFor: 0,
    };
  }
  /** Issues a token that must not be refused. */
  async function issued(refresh: Refresh, issuer = store()): Promise<IssuedAccessToken> {
    const result = await issuer.issue(refresh);
    if ('refusal' in result) throw new Error(result.refusal);
    return result;
  }
  async function ended({ session }: Refresh): Promise<void> {
    await dataSource.query(
      'UPDATE refresh_tokens SET signed_out_at = now(), expires_at = now() WHERE session_id = $1',
      [session.sessionId],
    );
  }
  interface Row {
    readonly user: string;
    readonly session: string;
    readonly jti: string;
    readonly expires: number;
    readonly token: string;
  }
  const rows = (): Promise<Row[]> =>
    dataSource.query(
      `SELECT user_id AS user, session_id AS session, jti, extract(epoch FROM expires_at)::float8 AS expires, token
       FROM access_tokens ORDER BY token`,
    );
  const toRow = ({ session }: Refresh, { jti, expiresAt, token }: IssuedAccessToken): Row => ({
    user: session.userId,
    session: session.sessionId,
    jti,
    expires: expiresAt,
    token,
  });

  describe.each<[string, isDistributed: boolean, areConcurrent: boolean]>([
    ['alone', false, false],
    ['concurrently', false, true],
    ['on Citus', true, true],
  ])('issued %s', (_how, isDistributed, areConcurrent) => {
    async function issue(refreshes: readonly Refresh[]): Promise<(IssuedAccessToken | Refused)[]> {
      const issuer = store(isDistributed);
      if (areConcurrent) return Promise.all(refreshes.map((one) => issuer.issue(one)));
      const results: (IssuedAccessToken | Refused)[] = [];
      for (const one of refreshes) results.push(await issuer.issue(one));
      return results;
    }
    const reasons = (results: readonly (IssuedAccessToken | Refused)[]): (string | undefined)[] =>
      results.map((one) => ('refusal' in one ? one.refusal : undefined));

    it('are those of sessions that are good, each with what is its own', async () => {
      const good = [await begin(), await begin(1), await begin(undefined, randomUUID())];
      const [over, expired, bound, other] = [await begin(), await begin(), await begin(1), await begin()];
      await ended(over);
      await dataSource.query(
        `UPDATE refresh_tokens SET expires_at = now() - interval '1 millisecond' WHERE session_id = $1`,
        [expired.session.sessionId],
      );
      const old = await begin();
      await dataSource.query(
        'INSERT INTO users (user_id, provider, provider_user_id, claims_version) VALUES ($1, $2, $2, 7)',
        [old.session.userId, randomUUID()],
      );
      const bad: [refresh: Refresh, refusal: string][] = [
        [over, 'session'],
        [expired, 'session'],
        [{ ...bound, proof: undefined }, 'proof'],
        [{ ...bound, proof: makeProof(2) }, 'proof'],
        [{ ...bound, refreshToken: makeRefreshToken(bound.session, true) }, 'session'],
        [{ ...other, refreshToken: makeRefreshToken(other.session) }, 'session'],
        [{ ...other, session: { ...other.session, userId: randomUUID() } }, 'session'],
        [{ ...other, session: { ...other.session, sessionId: randomUUID() } }, 'session'],
        [old, 'claims'],
        [{ ...other, claims: { ...NO_CLAIMS, version: 8 } }, 'claims'],
      ];
      const refused = bad.map(([refresh]) => refresh);
      const results = await issue([...refused.slice(0, 4), ...good, ...refused.slice(4)]);
      const tokens = results.splice(4, good.length) as IssuedAccessToken[];
      expect(reasons(tokens)).toEqual([undefined, undefined, undefined]);
      expect(reasons(results)).toEqual(bad.map(([, refusal]) => refusal));
      const expected = good.map((one, i) => toRow(one, tokens[i]!));
      expect(await rows()).toEqual(expected.toSorted((a, b) => (a.token < b.token ? -1 : 1)));
      expect(expected[1]!.expires - expected[0]!.expires).toBeGreaterThan(100); // its proof must be known longer
    });

    it('are one for each proof (RFC 9449 §11.1)', async () => {
      const [one, another] = [await begin(1), await begin(1)];
      const proof = makeProof(1);
      const results = await issue([{ ...one, proof }, { ...one, proof }, { ...one, proof }, another]);
      const got = results.slice(0, 3).flatMap((each) => ('refusal' in each ? [] : [each.token]));
      expect(got).toHaveLength(1);
      expect(reasons(results).filter((reason) => reason === 'proof')).toHaveLength(2);
      expect(reasons(results).slice(3)).toEqual([undefined]);
      expect((await rows()).map(({ token }) => token)).toContain(got[0]);
      expect(reasons(await issue([{ ...one, proof }]))).toEqual(['proof']);
      expect(await rows()).toHaveLength(2);
    });
  });

  describe.each([
    ['on PostgreSQL', false],
    ['on Citus', true],
  ])('%s, within limits', (_where, isDistributed) => {
    const TTL = 600;
    const change = ({ session }: Refresh, columns: string) =>
      dataSource.query(`UPDATE refresh_tokens SET ${columns} WHERE session_id = $1`, [session.sessionId]);
    const idleFor = async ({ session }: Refresh): Promise<number | null> => {
      const text =
        'SELECT extract(epoch FROM idle_ends_at - now())::float8 AS left FROM refresh_tokens WHERE session_id = $1';
      const [row] = await dataSource.query<{ left: number | null }[]>(text, [session.sessionId]);
      return row!.left;
    };

    it('an idle end is set, moved, and removed with the setting', async () => {
      const [one, other] = [await begin(), await begin()];
      const limited = store(isDistributed, TTL);
      const results = await Promise.all([limited.issue(one), limited.issue({ ...other, idleFor: 100 })]);
      expect(results).toMatchObject([{ endsAt: expect.any(Number) }, { endsAt: expect.any(Number) }]);
      expect(Math.abs((await idleFor(one))! - TTL)).toBeLessThan(60);
      expect(Math.abs((await idleFor(other))! - TTL + 100)).toBeLessThan(60);
      await change(one, 'idle_ends_at = now() + make_interval(secs => 604)');
      await limited.issue(one); // moves it by less than 5 s
      expect((await idleFor(one))!).toBeGreaterThan(600);
      expect(await store(isDistributed).issue(one)).not.toHaveProperty('endsAt');
      expect(await idleFor(one)).toBeNull();
    });

    it('the move waits for a locked session, and for no other', async () => {
      const [locked, free] = [await begin(), await begin()];
      const limited = store(isDistributed, TTL);
      const holder = dataSource.createQueryRunner();
      await holder.startTransaction();
      await holder.query('SELECT FROM refresh_tokens WHERE session_id = $1 FOR UPDATE', [
        locked.session.sessionId,
      ]);
      let isMoved = false;
      const waits = limited.issue(locked).then(() => (isMoved = true));
      await limited.issue(free);
      expect(isMoved).toBe(false);
      await holder.commitTransaction();
      await holder.release();
      await waits;
      expect(await idleFor(locked)).toBeGreaterThan(0);
    });

    it('a token does not outlive its session, and none is stored past an idle end', async () => {
      const limited = store(isDistributed, TTL);
      const [short, named, bound] = [await begin(), await begin(), await begin(1)];
      await change(short, `expires_at = now() + interval '30 seconds'`);
      await change(named, `expires_at = now() + interval '30 seconds', ends_because = 'session_expiry'`);
      const end = { refusal: 'end', endsAt: expect.any(Number) };
      expect([await limited.issue(short), await store(isDistributed).issue(named)]).toEqual([end, end]);
      expect(await store(isDistributed).issue(short)).not.toHaveProperty('refusal');
      expect(await limited.issue({ ...short, latest: Date.now() / 1000 + 20 })).toHaveProperty('endsAt');
      expect(await limited.issue({ ...named, idleFor: TTL })).toEqual({ refusal: 'idle' });
      const stale = { ...bound, idleFor: TTL };
      expect([await limited.issue(stale), await limited.issue(stale)]).toEqual([
        { refusal: 'idle' },
        { refusal: 'proof' }, // used by the first
      ]);
    });
  });

  it('of concurrent refreshes need one statement, except on Citus', async () => {
    const batches: [name: string, calls: number][] = [];
    events.on('statement.batched', ({ name, calls }) => void batches.push([name, calls]));
    for (const isDistributed of [false, true]) {
      const issuer = store(isDistributed);
      const refreshes = [await begin(), await begin(), await begin()];
      await Promise.all(refreshes.map((one) => issuer.issue(one)));
    }
    expect(batches.reduce((sum, [, calls]) => sum + calls, 0)).toBe(3);
    expect(new Set(batches.map(([name]) => name))).toEqual(new Set(['refresh']));
    batches.splice(0);
    const judge = verifier();
    const tokens = (await rows()).map(({ token }) => token);
    await Promise.all(tokens.map((token) => judge.find(token)));
    expect(batches.reduce((sum, [, calls]) => sum + calls, 0)).toBe(tokens.length);
    expect(new Set(batches.map(([name]) => name))).toEqual(new Set(['access-token']));
  });

  it('are stored and looked for by statements that are planned once for each connection', async () => {
    const one = await new DataSource(unhurriedOptions(dataSourceOptions(database.url, 1))).initialize();
    try {
      await dataSource.destroy();
      dataSource = one;
      const issuer = store();
      const refreshes = [await begin(), await begin(), await begin(), await begin()];
      await Promise.all(refreshes.map((refresh) => issuer.issue(refresh)));
      await issuer.issue(refreshes[0]!);
      const judge = verifier();
      const tokens = (await rows()).map(({ token }) => token);
      await judge.find(tokens[0]!);
      await Promise.all(tokens.map((token) => judge.find(token)));
      const prepared = await one.query<{ name: string }[]>('SELECT name FROM pg_prepared_statements');
      expect(prepared.map(({ name }) => name).toSorted()).toEqual([
        'access-token',
        'access-tokens',
        'refresh',
      ]);
    } finally {
      if (one.isInitialized) await one.destroy();
    }
  });

  describe('are judged', () => {
    /** Signed by our key, and stored nowhere. */
    const unstored = (): string =>
      new AccessTokens(ring, clock, settings).issue(
        { userId: randomUUID(), sessionId: randomUUID(), deviceId: null },
        { claims: {} },
      ).token;

    it.each([
      ['alone', false],
      ['concurrently', true],
    ])('%s: good while they are stored and their session has not ended', async (_how, areConcurrent) => {
      const refreshes = [await begin(), await begin(undefined, randomUUID()), await begin()];
      const stored = await Promise.all(refreshes.map((one) => issued(one)));
      await ended(refreshes[2]!);
      const tokens = [unstored(), ...stored.map((one) => one.token), 'x'];
      const judge = verifier();
      const found: unknown[] = [];
      if (areConcurrent) found.push(...(await Promise.all(tokens.map((token) => judge.find(token)))));
      else for (const token of tokens) found.push(await judge.find(token));
      const good = [0, 1].map((i) => ({
        session: refreshes[i]!.session,
        claims: expect.objectContaining({ sub: refreshes[i]!.session.userId, jti: stored[i]!.jti }),
        kid: 'k',
        claimsVersion: 0,
      }));
      expect(found).toEqual([undefined, ...good, undefined, undefined]);
    });

    it('by their whole text: an ES256 signature has a second form', async () => {
      const refresh = await begin();
      const { token } = await issued(refresh);
      await dataSource.query(`UPDATE access_tokens SET token = token || 'x'`);
      expect(await verifier().find(token)).toBeUndefined();
      const judge = verifier();
      expect(await Promise.all([judge.find(token), judge.find(token)])).toEqual([undefined, undefined]);
    });

    it('independently of each other, though one has more behind its signature', async () => {
      const refreshes = [await begin(), await begin()];
      const stored = await Promise.all(refreshes.map((one) => issued(one)));
      const [one, another] = stored.map((each) => each.token);
      const judge = verifier();
      const found = await Promise.all([`${one},!`, another!, one!].map((token) => judge.find(token)));
      expect(found.map((each) => each?.claims.jti)).toEqual([undefined, stored[1]!.jti, stored[0]!.jti]);
    });

    it('after their key was learned, if that is new', async () => {
      const { token } = await issued(await begin());
      known = false;
      const judge = verifier();
      expect(await judge.find(token)).toMatchObject({ kid: 'k' });
      expect(learned).toEqual([token]);
    });

    it('with an error that says nothing of the reason (RFC 6750 §3.1)', async () => {
      const { token } = await issued(await begin());
      const judge = verifier();
      expect(await judge.verify(token)).toMatchObject({ kid: 'k' });
      for (const bad of ['x', unstored(), ''])
        await expect(judge.verify(bad)).rejects.toMatchObject({
          error: 'invalid_token',
          description: expect.stringMatching(/./),
          headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
        });
    });
  });
});
