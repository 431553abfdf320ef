import { randomUUID } from 'node:crypto';
import { REFRESH, REFRESH_WITHIN_LIMITS } from '../../src/token/refresh/refresh.sql.js';
import { byPlace, sessionOf, sortedIds, userOf, useStatements } from '../support/statements.js';

const HOUR = 3600;
const now = (): number => Date.now() / 1000;

type Session = ReturnType<typeof sessionOf> & { readonly jkt?: Buffer };
interface Refresh {
  readonly session: Session;
  readonly jti?: string;
  readonly version?: number;
  readonly tokenHash?: Buffer;
  readonly jkt?: Buffer | null;
}

/** The steps of src/token/refresh/refresh.sql.ts. */
describe('the statements of a refresh', () => {
  const { run, runUnsorted, insert, whileHeld, isBlocked } = useStatements();
  const KEY = Buffer.alloc(32, 1);
  const begin = (columns: object = {}, userId: string = randomUUID()): Promise<Session> =>
    insert('refresh_tokens', sessionOf(userId, { ...columns }));

  const columnsOf = (all: readonly Refresh[]): unknown[] => [
    all.map(({ session }) => session.user_id),
    all.map(({ session }) => session.session_id),
    all.map(({ session, tokenHash = session.token_hash }) => tokenHash),
    all.map(({ session, jkt = session.jkt ?? null }) => jkt),
    all.map(({ version = 0 }) => version),
    all.map(({ jti = randomUUID() }) => jti),
    all.map(() => now() + HOUR),
    all.map((_, i) => `token ${i}`),
  ];
  const refresh = (...all: readonly Refresh[]) => runUnsorted(REFRESH, columnsOf(all));
  /** @param idleEnd seconds from now, or a time */
  const limited = (
    all: readonly Refresh[],
    idleEnd: number | Date | null,
    { exp = 60, lockTimeout = null as string | null } = {},
  ) => {
    const end = typeof idleEnd === 'number' ? now() + idleEnd : idleEnd && idleEnd.getTime() / 1000;
    const ends = all.map(() => end);
    return runUnsorted(REFRESH_WITHIN_LIMITS, [
      ...columnsOf(all),
      all.map(() => now() + exp),
      ends,
      lockTimeout,
    ]);
  };
  const tokens = async ({ user_id }: Session) =>
    (await run('SELECT token FROM access_tokens WHERE user_id = $1', [user_id])).map(({ token }) => token);
  const TAKE = `INSERT INTO access_tokens (user_id, session_id, jti, expires_at, token)
    VALUES ($1, $2, $3, now(), 'other')`;
  const take = ({ session: { user_id, session_id }, jti }: Refresh): [string, unknown[]] => [
    TAKE,
    [user_id, session_id, jti],
  ];
  const LOCK = 'SELECT FROM refresh_tokens WHERE user_id = $1 AND session_id = $2 FOR NO KEY UPDATE';

  /** Refreshes of bound sessions, the last keys first; `take` says that a proof is used. */
  const crossing = async (columns: object = {}): Promise<[sent: Refresh[], sorted: Refresh[]]> => {
    const sorted: Refresh[] = [];
    for (const userId of sortedIds(4).toReversed()) {
      sorted.unshift({ session: await begin({ jkt: KEY, ...columns }, userId), jti: randomUUID() });
    }
    return [sorted.toReversed(), sorted];
  };
  const areTaken = (all: readonly Refresh[]) => Promise.all(all.map((one) => isBlocked(...take(one))));
  const areLocked = (all: readonly Refresh[]) =>
    Promise.all(all.map(({ session }) => isBlocked(LOCK, [session.user_id, session.session_id])));

  describe('REFRESH', () => {
    it('`requested` and `checked` refuse a refresh, each for its own reason', async () => {
      const good = { session: await begin() };
      const changed = await begin();
      await insert('users', userOf(changed.user_id, { claims_version: 7 }));
      const rows = await refresh(
        good,
        { session: { ...good.session, session_id: randomUUID() } },
        { session: await begin({ expires_at: new Date(0) }) },
        { session: await begin(), tokenHash: KEY },
        { session: await begin({ jkt: KEY }), jkt: null },
        { session: await begin(), jkt: KEY },
        { session: await begin({ idle_ends_at: new Date() }) },
        { session: changed },
      );
      expect(byPlace(rows).map(({ place, refusal }) => [place, refusal])).toEqual([
        [2, 'session'],
        [3, 'session'],
        [4, 'token'],
        [5, 'token'],
        [6, 'token'],
        [7, 'limits'],
        [8, 'claims'],
      ]);
      expect(await tokens(good.session)).toEqual(['token 0']);
      expect(await refresh({ session: changed, version: 7 })).toEqual([]);
    });

    it('`stored` waits for another statement with the proof: one of them has the token', async () => {
      const one = { session: await begin({ jkt: KEY }), jti: randomUUID() };
      const rows = await whileHeld(take(one), () => refresh(one));
      expect(rows).toMatchObject([{ place: 1, refusal: 'proof' }]);
      expect(await tokens(one.session)).toEqual(['other']);
    });

    it('`stored` locks proofs in the order of the keys', async () => {
      const [sent, sorted] = await crossing();
      const rows = await whileHeld(
        take(sorted[1]!),
        () => refresh(...sent),
        async () => {
          expect(await areTaken(sorted)).toEqual([true, true, false, false]);
        },
      );
      expect(rows).toMatchObject([{ place: 3, refusal: 'proof' }]);
    });

    it('`stored` waits for nobody else: a sign-out of the session may be in progress', async () => {
      const session = await begin();
      const jti = randomUUID();
      const other = { session, jti: randomUUID() };
      // While the statement of another token waits, this one does not.
      await whileHeld(
        take(other),
        () => refresh(other),
        async (holder) => {
          await holder.query('UPDATE refresh_tokens SET signed_out_at = now() WHERE user_id = $1', [
            session.user_id,
          ]);
          expect(await refresh({ session, jti })).toEqual([]);
        },
      );
    });
  });

  describe('REFRESH_WITHIN_LIMITS', () => {
    const IDLE = { idle_ends_at: new Date(Date.now() + 2 * HOUR * 1000) };
    const idleEndOf = async ({ session_id }: Session) => {
      const text = 'SELECT idle_ends_at AS at FROM refresh_tokens WHERE session_id = $1';
      return (await run(text, [session_id]))[0]!['at'] as Date;
    };

    it('`requested` limits the wait for a lock', async () => {
      const session = await begin(IDLE);
      const waits = whileHeld([LOCK, [session.user_id, session.session_id]], () =>
        limited([{ session }], HOUR, { lockTimeout: '1ms' }),
      );
      await expect(waits).rejects.toMatchObject({ code: '55P03' });
    });

    it('`checked` refuses a refresh, each for its own reason', async () => {
      const idle = { session: await begin({ idle_ends_at: new Date(0) }) };
      const changed = { session: await begin() };
      await insert('users', userOf(changed.session.user_id, { claims_version: 7 }));
      const reasons = async (one: Refresh, idleEnd: number | null = HOUR, exp = 60) =>
        (await limited([one], idleEnd, { exp }))[0]!['refusal'];
      expect(await reasons({ session: { ...idle.session, session_id: randomUUID() } })).toBe('session');
      expect(await reasons({ session: await begin({ expires_at: new Date(0) }) })).toBe('session');
      expect(await reasons({ session: await begin(), tokenHash: KEY })).toBe('token');
      expect(await reasons({ session: await begin(), jkt: KEY })).toBe('token');
      expect(await reasons(idle)).toBe('idle');
      expect(await reasons({ session: await begin() }, -1)).toBe('idle');
      expect(await reasons({ session: await begin() }, null, 48 * HOUR)).toBe('end');
      expect(await reasons(changed)).toBe('claims');
      expect(await reasons({ ...changed, version: 7 })).toBeNull();
    });

    it('`storable`: the proof of a bound session is used up by the end of its idle time', async () => {
      const [bound, unbound] = [await begin({ jkt: KEY }), await begin()];
      const [one, other] = [{ session: bound, jti: randomUUID() }, { session: unbound }];
      expect(await limited([one, other], -1)).toMatchObject([{ refusal: 'idle' }, { refusal: 'idle' }]);
      expect([await tokens(bound), await tokens(unbound)]).toEqual([['token 0'], []]);
      expect(await limited([one], -1)).toMatchObject([{ refusal: 'proof' }]);
    });

    it('`moving` locks sessions whose idle end moves, in the order of the keys', async () => {
      const [sent, sorted] = await crossing(IDLE);
      const { user_id, session_id } = sorted[1]!.session;
      await whileHeld(
        [LOCK, [user_id, session_id]],
        () => limited(sent, HOUR),
        async () => {
          expect(await areLocked(sorted)).toEqual([true, true, false, false]);
          expect(await areTaken(sorted)).toEqual([false, false, false, false]); // `stored` comes after `moving`
        },
      );
    });

    it('`moving` locks no session whose idle end stays', async () => {
      const session = await begin(IDLE);
      const one = { session, jti: randomUUID() };
      await whileHeld(
        take(one),
        () => limited([one], IDLE.idle_ends_at),
        async () => {
          expect(await areLocked([one])).toEqual([false]);
        },
      );
    });

    it('`stored` locks proofs in the order of the keys, after all sessions', async () => {
      const [sent, sorted] = await crossing(IDLE);
      await whileHeld(
        take(sorted[1]!),
        () => limited(sent, HOUR),
        async () => {
          expect(await areTaken(sorted)).toEqual([true, true, false, false]);
          expect(await areLocked(sorted)).toEqual([true, true, true, true]);
        },
      );
    });

    it('`moved` has the new idle end; a used proof moves nothing', async () => {
      const one = { session: await begin({ ...IDLE, jkt: KEY }), jti: randomUUID() };
      expect(await limited([one], HOUR)).toMatchObject([{ refusal: null }]);
      const moved = await idleEndOf(one.session);
      expect(Math.abs(moved.getTime() / 1000 - now() - HOUR)).toBeLessThan(600);
      expect(await limited([one], 20 * HOUR)).toMatchObject([{ refusal: 'proof' }]);
      expect(await idleEndOf(one.session)).toEqual(moved);
    });
  });
});
