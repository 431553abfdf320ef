import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { JwtService } from '@nestjs/jwt';
import { DataSource } from 'typeorm';
import type { Settings } from '../../src/config/settings/settings.js';
import type { Clock } from '../../src/database/clock.js';
import { dataSourceOptions } from '../../src/database/pool/data-source.js';
import { AuditStore } from '../../src/audit/audit.store.js';
import { ChannelHistory } from '../../src/channel/channel.history.js';
import { Sql } from '../../src/database/sql.js';
import { Events, type SessionIds } from '../../src/events.js';
import { AccessTokens, type IssuedAccessToken } from '../../src/token/access-tokens/access-token.js';
import { AccessTokenStore, type Refresh } from '../../src/token/access-tokens/access-token.store.js';
import { AccessTokenVerifier } from '../../src/token/access-tokens/access-token.verifier.js';
import type { KeyRing } from '../../src/token/keys/key-ring.js';
import type { KeyService } from '../../src/token/keys/key.service.js';
import { hashRefreshToken, makeRefreshToken } from '../../src/token/refresh/refresh-token.js';
import { encodePart } from '../../src/token/keys/sign-jwt.js';
import { ClaimsStore } from '../../src/user/claims.store.js';
import { createDatabase, type TestDatabase, unhurriedOptions } from '../support/database.js';

const settings = { publicUrl: 'https://id.example', accessTokenTtl: 60 } as Settings;
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const header = encodePart({ alg: 'ES256', typ: 'at+jwt', kid: 'k' });

/** Access tokens as the database knows them, without a service. */
describe('stored access tokens', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let events: Events;
  let learned: string[];
  /** What is known of the key by now. */
  let known: boolean;
  beforeAll(async () => {
    database = await createDatabase();
  });
  beforeEach(async () => {
    dataSource = await new DataSource(unhurriedOptions(dataSourceOptions(database.url, 4))).initialize();
    await dataSource.query('TRUNCATE access_tokens, refresh_tokens');
    [events, learned, known] = [new Events(), [], true];
  });
  afterEach(async () => {
    if (dataSource.isInitialized) await dataSource.destroy();
  });
  afterAll(() => database.drop());

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
      verificationKey: () => (known ? { kid: 'k', publicKey } : undefined),
    }) as unknown as KeyService;
  function store(isDistributed = false): AccessTokenStore {
    const sql = new Sql(dataSource, isDistributed, events);
    const history = new ChannelHistory(dataSource, sql, events, settings);
    const audit = new AuditStore(dataSource, sql, events, { auditRetentionDays: 90 });
    const claims = new ClaimsStore(sql, history, clock, audit, settings);
    return new AccessTokenStore(sql, new AccessTokens(ring, clock, settings), claims);
  }
  function verifier(): AccessTokenVerifier {
    const jwt = new JwtService({ secretOrKeyProvider: () => (known ? publicKey : '') });
    return new AccessTokenVerifier(jwt, keys(), clock, new Sql(dataSource, false, events), settings);
  }
  const proofOf = (jkt: number, jti = randomUUID()) => ({ jkt: Buffer.alloc(32, jkt), jti });

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
    return { refreshToken, session, proof: jkt === undefined ? undefined : proofOf(jkt) };
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
  const rowOf = ({ session }: Refresh, { jti, expiresAt, token }: IssuedAccessToken): Row => ({
    user: session.userId,
    session: session.sessionId,
    jti,
    expires: expiresAt,
    token,
  });

  describe.each<[string, isDistributed: boolean, areTogether: boolean]>([
    ['alone', false, false],
    ['together', false, true],
    ['on Citus', true, true],
  ])('asked for %s', (_how, isDistributed, areTogether) => {
    async function issue(refreshes: readonly Refresh[]): Promise<(IssuedAccessToken | undefined)[]> {
      const issuer = store(isDistributed);
      if (areTogether) return Promise.all(refreshes.map((one) => issuer.issueForSession(one)));
      const issued: (IssuedAccessToken | undefined)[] = [];
      for (const one of refreshes) issued.push(await issuer.issueForSession(one));
      return issued;
    }

    it('are those of sessions that are good, each with what is its own', async () => {
      const good = [await begin(), await begin(1), await begin(undefined, randomUUID())];
      const [over, expired, bound, other] = [await begin(), await begin(), await begin(1), await begin()];
      await ended(over);
      await dataSource.query(
        `UPDATE refresh_tokens SET expires_at = now() - interval '1 millisecond' WHERE session_id = $1`,
        [expired.session.sessionId],
      );
      const bad: Refresh[] = [
        over,
        expired,
        { ...bound, proof: undefined },
        { ...bound, proof: proofOf(2) },
        { ...other, refreshToken: makeRefreshToken(other.session) },
        { ...other, session: { ...other.session, userId: randomUUID() } },
        { ...other, session: { ...other.session, sessionId: randomUUID() } },
      ];
      const issued = await issue([...bad.slice(0, 4), ...good, ...bad.slice(4)]);
      expect(issued.map((one) => one !== undefined)).toEqual(
        [0, 0, 0, 0, 1, 1, 1, 0, 0, 0].map((one) => one === 1),
      );
      const expected = good.map((one, i) => rowOf(one, issued[4 + i]!));
      expect(await rows()).toEqual(expected.toSorted((a, b) => (a.token < b.token ? -1 : 1)));
      expect(expected[1]!.expires - expected[0]!.expires).toBeGreaterThan(100); // its proof must be known longer
    });

    it('are one for each proof (RFC 9449 §11.1)', async () => {
      const [one, another] = [await begin(1), await begin(1)];
      const proof = proofOf(1);
      const issued = await issue([{ ...one, proof }, { ...one, proof }, { ...one, proof }, another]);
      const got = issued.slice(0, 3).filter((token) => token !== undefined);
      expect([got.length, issued[3] !== undefined]).toEqual([1, true]);
      expect((await rows()).map(({ token }) => token)).toContain(got[0]!.token);
      expect(await issue([{ ...one, proof }])).toEqual([undefined]);
      expect(await rows()).toHaveLength(2);
    });
  });

  it('of many that come together need one statement, except on Citus', async () => {
    const told: [name: string, calls: number][] = [];
    events.on('statement.batched', ({ name, calls }) => void told.push([name, calls]));
    for (const isDistributed of [false, true]) {
      const issuer = store(isDistributed);
      const refreshes = [await begin(), await begin(), await begin()];
      await Promise.all(refreshes.map((one) => issuer.issueForSession(one)));
    }
    expect(told.reduce((sum, [, calls]) => sum + calls, 0)).toBe(3);
    expect(new Set(told.map(([name]) => name))).toEqual(new Set(['refresh']));
    told.splice(0);
    const judge = verifier();
    const tokens = (await rows()).map(({ token }) => token);
    await Promise.all(tokens.map((token) => judge.find(token)));
    expect(told.reduce((sum, [, calls]) => sum + calls, 0)).toBe(tokens.length);
    expect(new Set(told.map(([name]) => name))).toEqual(new Set(['access-token']));
  });

  it('are stored and looked for by statements that are planned once for each connection', async () => {
    const one = await new DataSource(unhurriedOptions(dataSourceOptions(database.url, 1))).initialize();
    try {
      await dataSource.destroy();
      dataSource = one;
      const issuer = store();
      const refreshes = [await begin(), await begin(), await begin(), await begin()];
      await Promise.all(refreshes.map((refresh) => issuer.issueForSession(refresh)));
      await issuer.issueForSession(refreshes[0]!);
      const judge = verifier();
      const tokens = (await rows()).map(({ token }) => token);
      await judge.find(tokens[0]!);
      await Promise.all(tokens.map((token) => judge.find(token)));
      const prepared = await one.query<{ name: string }[]>('SELECT name FROM pg_prepared_statements');
      expect(prepared.map(({ name }) => name).toSorted()).toEqual([
        'access-token-is-live',
        'access-tokens-are-live',
        'refresh-many',
        'refresh-one',
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
      ['together', true],
    ])('%s: good while they are stored and their session has not ended', async (_how, areTogether) => {
      const refreshes = [await begin(), await begin(undefined, randomUUID()), await begin()];
      const issued = await Promise.all(refreshes.map((one) => store().issueForSession(one)));
      await ended(refreshes[2]!);
      const tokens = [unstored(), ...issued.map((one) => one!.token), 'x'];
      const judge = verifier();
      const found: unknown[] = [];
      if (areTogether) found.push(...(await Promise.all(tokens.map((token) => judge.find(token)))));
      else for (const token of tokens) found.push(await judge.find(token));
      const good = [0, 1].map((i) => ({
        session: refreshes[i]!.session,
        claims: expect.objectContaining({ sub: refreshes[i]!.session.userId, jti: issued[i]!.jti }),
        kid: 'k',
        claimsVersion: 0,
      }));
      expect(found).toEqual([undefined, ...good, undefined, undefined]);
    });

    it('by their whole text: an ES256 signature has a second form', async () => {
      const refresh = await begin();
      const issued = await store().issueForSession(refresh);
      await dataSource.query(`UPDATE access_tokens SET token = token || 'x'`);
      expect(await verifier().find(issued!.token)).toBeUndefined();
    });

    it('apart from each other, though one has more behind its signature', async () => {
      const refreshes = [await begin(), await begin()];
      const issued = await Promise.all(refreshes.map((one) => store().issueForSession(one)));
      const [one, another] = issued.map((each) => each!.token);
      const judge = verifier();
      const found = await Promise.all([`${one},!`, another!, one!].map((token) => judge.inspect(token)));
      expect(found.map((each) => each?.claims.jti)).toEqual([undefined, issued[1]!.jti, issued[0]!.jti]);
    });

    it('after their key was learned, if that is new', async () => {
      const issued = await store().issueForSession(await begin());
      known = false;
      const judge = verifier();
      expect(await judge.find(issued!.token)).toMatchObject({ kid: 'k' });
      expect(learned).toEqual([issued!.token]);
    });

    it('with an error that says nothing of the reason (RFC 6750 §3.1)', async () => {
      const issued = await store().issueForSession(await begin());
      const judge = verifier();
      expect(await judge.verify(issued!.token)).toMatchObject({ kid: 'k' });
      for (const token of ['x', unstored(), ''])
        await expect(judge.verify(token)).rejects.toMatchObject({
          error: 'invalid_token',
          description: expect.stringMatching(/./),
          headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
        });
    });
  });
});
