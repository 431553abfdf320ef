import { randomUUID } from 'node:crypto';
import { MOVE_IDLE_ENDS, REFRESH } from '../../src/token/refresh/refresh.sql.js';
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
  const { run, runUnsorted, insert, whileHeld, whileLocked, isBlocked } = useStatements();
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
  /**
   * @param idleEnd seconds from now
   * @param mayEndEarly whether any session may
   */
  const limited = (all: readonly Refresh[], idleEnd: number | null, { exp = 60, mayEndEarly = true } = {}) =>
    runUnsorted(REFRESH, [
      ...columnsOf(all),
      all.map(() => now() + exp),
      idleEnd === null ? null : all.map(() => now() + idleEnd),
      mayEndEarly,
    ]);
  const refresh = (...all: readonly Refresh[]) => limited(all, null, { mayEndEarly: false });
  const tokens = async ({ user_id }: Session) =>
    (await run('SELECT token FROM access_tokens WHERE user_id = $1', [user_id])).map(({ token }) => token);
  const TAKE = `INSERT INTO access_tokens (user_id, session_id, jti, expires_at, token)
    VALUES ($1, $2, $3, now(), 'other')`;
  const take = ({ session: { user_id, session_id }, jti }: Refresh): [string, unknown[]] => [
    TAKE,
    [user_id, session_id, jti],
  ];

  /** Refreshes of bound sessions, the last keys first; `take` says that a proof is used. */
  const crossing = async (): Promise<[sent: Refresh[], sorted: Refresh[]]> => {
    const sorted: Refresh[] = [];
    for (const userId of sortedIds(4).toReversed()) {
      sorted.unshift({ session: await begin({ jkt: KEY }, userId), jti: randomUUID() });
    }
    return [sorted.toReversed(), sorted];
  };
  const areTaken = (all: readonly Refresh[]) => Promise.all(all.map((one) => isBlocked(...take(one))));

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
        { session: await begin({ idle_ends_at: new Date(0) }) },
        { session: changed },
      );
      expect(byPlace(rows).map(({ place, refusal }) => [place, refusal])).toEqual([
        [2, 'session'],
        [3, 'session'],
        [4, 'token'],
        [5, 'token'],
        [6, 'token'],
        [7, 'idle'],
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

  describe('REFRESH, of sessions that may end early', () => {
    const IDLE = { idle_ends_at: new Date(Date.now() + 2 * HOUR * 1000) };

    it('`checked` refuses what is past the idle end, or would outlive the session', async () => {
      const idle = { session: await begin({ idle_ends_at: new Date(0) }) };
      const named = { session: await begin({ ends_because: 'session_expiry' }) };
      const reason = async (one: Refresh, idleEnd: number | null, more = {}) =>
        (await limited([one], idleEnd, more))[0]?.['refusal'];
      expect(await reason(idle, HOUR)).toBe('idle');
      expect(await reason({ session: await begin() }, -1)).toBe('idle');
      expect(await reason({ session: await begin() }, null, { exp: 48 * HOUR })).toBe('end');
      expect(await reason(named, null, { exp: 48 * HOUR, mayEndEarly: false })).toBe('end');
      expect(
        await reason({ session: await begin() }, null, { exp: 48 * HOUR, mayEndEarly: false }),
      ).toBeUndefined();
    });

    it('returns both ends of a session with a token, if it may end early or has an idle end', async () => {
      const sessions = [
        { session: await begin() },
        { session: await begin({ ends_because: 'session_expiry' }) },
        { session: await begin(IDLE) },
      ];
      const ends = (rows: Record<string, unknown>[]) =>
        byPlace(rows).map(({ place, refusal, endsAt, idleEndsAt }) => [place, refusal, endsAt, idleEndsAt]);
      const [end, idleEnd] = [expect.any(Number), IDLE.idle_ends_at.getTime() / 1000];
      expect(ends(await refresh(...sessions))).toEqual([
        [2, null, end, null],
        [3, null, null, idleEnd],
      ]);
      expect(ends(await limited(sessions, HOUR))).toEqual([
        [1, null, end, null],
        [2, null, end, null],
        [3, null, end, idleEnd],
      ]);
    });

    it('`stored`: the proof of a bound session is used up by the end of its idle time', async () => {
      const [bound, unbound] = [await begin({ jkt: KEY }), await begin()];
      const [one, other] = [{ session: bound, jti: randomUUID() }, { session: unbound }];
      expect(await limited([one, other], -1)).toMatchObject([{ refusal: 'idle' }, { refusal: 'idle' }]);
      expect([await tokens(bound), await tokens(unbound)]).toEqual([['token 0'], []]);
      expect(await limited([one], -1)).toMatchObject([{ refusal: 'proof' }]);
    });
  });

  describe('MOVE_IDLE_ENDS', () => {
    it('`free` leaves locked sessions out, and waits for none', async () => {
      const [one, other] = [await begin(), await begin()];
      const move = () => {
        const all = [one, other, sessionOf(randomUUID())];
        return run(MOVE_IDLE_ENDS, [
          all.map(({ user_id }) => user_id),
          all.map(({ session_id }) => session_id),
          all.map(() => now() + HOUR),
        ]);
      };
      const LOCK = 'SELECT FROM refresh_tokens WHERE user_id = $1 AND session_id = $2 FOR NO KEY UPDATE';
      await whileLocked([LOCK, [one.user_id, one.session_id]], async () => {
        expect(await move()).toEqual([{ sessionId: other.session_id }]);
      });
      const text =
        'SELECT count(*)::int AS moved FROM refresh_tokens WHERE idle_ends_at > now() AND session_id = ANY ($1)';
      const moved = async () => (await run(text, [[one.session_id, other.session_id]]))[0]!['moved'];
      expect(await moved()).toBe(1);
      expect(new Set((await move()).map(({ sessionId }) => sessionId))).toEqual(
        new Set([one.session_id, other.session_id]),
      );
      expect(await moved()).toBe(2);
    });
  });
});
