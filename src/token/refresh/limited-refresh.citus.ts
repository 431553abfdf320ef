import type { DataSource } from 'typeorm';
import type { PlainElement } from '../../platform/database/batching.js';
import { LimitedRefreshStore, type LimitedRow } from './limited-refresh.store.js';
import { LOCK_SESSION, MOVE_IDLE_END, STORE_TOKEN } from './refresh.sql.js';

interface Locked {
  readonly tokenHash: Buffer;
  readonly jkt: Buffer | null;
  /** Times are seconds since the epoch. */
  readonly endsAt: number;
  readonly idleEndsAt: number | null;
  readonly now: number;
  readonly version: number;
}

/** Seconds by which an idle end must differ to be written. */
const LEAST_MOVE = 5;

/** Refreshes within limits on Citus: each one is a transaction on the user's node (Sql.batched). */
export class CitusLimitedRefreshStore extends LimitedRefreshStore {
  constructor(
    private readonly dataSource: DataSource,
    ...others: ConstructorParameters<typeof LimitedRefreshStore>
  ) {
    super(...others);
  }

  protected override store([row]: readonly PlainElement[][]): Promise<LimitedRow[]> {
    const [userId, sessionId, tokenHash, jkt, version, jti, expiresAt, token, exp, idleEndsAt] = row!;
    // Raw: a lock, the database's clock, and a conflict that is no error.
    return this.dataSource.transaction(async (manager) => {
      const run = <Row>(text: string, values: unknown[]): Promise<Row[]> => manager.query(text, values);
      const [locked] = await run<Locked>(LOCK_SESSION, [userId, sessionId]);
      if (!locked) return [{ place: 1, refusal: 'session', tokenHash: null, jkt: null, endsAt: null }];
      const requested = { tokenHash, jkt, version, exp, idleEndsAt } as unknown as Requested;
      const refusal = judge(locked, requested);
      const found = { place: 1, tokenHash: locked.tokenHash, jkt: locked.jkt, endsAt: locked.endsAt };
      // With `idle`, an expired token is stored for a bound session: a used proof must not end it.
      if (refusal !== null && !(refusal === 'idle' && locked.jkt !== null)) return [{ ...found, refusal }];
      const values = [userId, sessionId, jti, expiresAt, token];
      const stored = await run(STORE_TOKEN, values);
      if (stored.length === 0) return [{ ...found, refusal: 'proof' }];
      if (refusal === null && moves(locked.idleEndsAt, requested.idleEndsAt)) {
        await run(MOVE_IDLE_END, [userId, sessionId, requested.idleEndsAt]);
      }
      return [{ ...found, refusal }];
    });
  }
}

interface Requested {
  readonly tokenHash: Buffer;
  readonly jkt: Buffer | null;
  readonly version: number;
  readonly exp: number;
  readonly idleEndsAt: number | null;
}

/** Judges as REFRESH_WITHIN_LIMITS does. */
function judge(locked: Locked, requested: Requested): LimitedRow['refusal'] {
  const isSameKey = locked.jkt === null ? requested.jkt === null : requested.jkt?.equals(locked.jkt) === true;
  if (!locked.tokenHash.equals(requested.tokenHash) || !isSameKey) return 'token';
  const ends = [locked.idleEndsAt, requested.idleEndsAt];
  if (ends.some((end) => end !== null && end <= locked.now)) return 'idle';
  if (requested.exp > locked.endsAt) return 'end';
  return locked.version === requested.version ? null : 'claims';
}

function moves(before: number | null, now: number | null): boolean {
  if (before === null || now === null) return before !== now;
  return Math.abs(before - now) > LEAST_MOVE;
}
