import { auditRowOf } from '../../audit/audit-event.js';
import { insertSignInEvents } from '../../audit/audit.sql.js';
import type { AuditStore } from '../../audit/audit.store.js';
import { appendToEach } from '../../channel/append.sql.js';
import type { Settings } from '../../config/settings/settings.js';
import { errorCode } from '../../errors/error-facts.js';
import type { Sql, Statement } from '../../database/sql.js';
import { OneAtATime } from '../../database/limits.js';
import { isDeviceBeyond, upsertDevices } from '../../device/device.sql.js';
import {
  hasMostSessions,
  insertAccessTokens,
  insertRefreshTokens,
  isProofUsed,
} from '../../token/sessions/session.sql.js';
import { jsonOf } from '../../user/claims.js';
import { upsertUsers } from '../../user/user.sql.js';
import {
  auditOf,
  keyOf,
  SignInWriter,
  type Refused,
  type SignedInRow,
  type SignIn,
  type Written,
} from './sign-in.store.js';

/** Columns of a batch: name, type and value. */
const COLUMNS: readonly (readonly [string, string, (signIn: SignIn) => unknown])[] = [
  ['user_id', 'uuid', ({ session }) => session.userId],
  ['provider', 'text', ({ provider }) => provider],
  ['provider_user_id', 'text', ({ identity }) => identity.providerUserId],
  ['username', 'text', ({ identity }) => identity.username],
  ['email', 'text', ({ identity }) => identity.email],
  ['avatar_url', 'text', ({ identity }) => identity.avatarUrl],
  ['username_key', 'text', ({ identity }) => keyOf(identity.username)],
  ['email_key', 'text', ({ identity }) => keyOf(identity.email)],
  ['device_id', 'uuid', ({ session }) => session.deviceId],
  ['device_name', 'text', ({ deviceName }) => deviceName],
  ['user_agent', 'text', ({ userAgent }) => userAgent],
  ['address', 'text', ({ origin }) => origin.address],
  ['request_id', 'text', ({ origin }) => origin.requestId],
  ['session_id', 'uuid', ({ session }) => session.sessionId],
  ['token_hash', 'bytea', ({ refreshTokenHash }) => refreshTokenHash],
  ['auth_time', 'float8', ({ identity }) => identity.authTime],
  ['ttl', 'float8', ({ refreshTokenTtl }) => refreshTokenTtl],
  ['jkt', 'bytea', ({ jkt }) => jkt],
  ['provider_subject', 'bytea', ({ providerSubject }) => providerSubject],
  ['provider_session', 'bytea', ({ providerSession }) => providerSession],
  ['id_token', 'bytea', ({ idToken }) => idToken],
  ['jti', 'uuid', ({ accessToken }) => accessToken.jti],
  ['expires_at', 'float8', ({ accessToken }) => accessToken.expiresAt],
  ['token', 'text', ({ accessToken }) => accessToken.token],
  ['claims_version', 'bigint', ({ claims }) => claims.version],
  ['provider_claims', 'jsonb', ({ claims }) => jsonOf(claims.provider)],
  ['application_claims', 'jsonb', ({ claims }) => jsonOf(claims.application)],
  ['claims', 'jsonb', ({ claims }) => jsonOf(claims.effective)],
];
const names = COLUMNS.map(([name]) => name).join(', ');
// The SELECT hides the array's length from the planner, so that it keeps the generic plan: planning costs as much as a sign-in.
const arrays = COLUMNS.map(([, type], i) =>
  i === 0 ? `(SELECT $1::${type}[])` : `$${i + 1}::${type}[]`,
).join(', ');
const HISTORY = `$${COLUMNS.length + 1}`;
const LOCK_TIMEOUT = `$${COLUMNS.length + 2}`;

/**
 * All rows of sign-ins in one statement, so that they are stored together or not at all. It spans modules: each offers the SQL for
 * its tables (`*.sql.ts`).
 *
 * Locks are taken in one order, against deadlocks with removals (users.service.ts) and sign-outs (sign-out.service.ts): users,
 * devices, counters, tokens, each by key. The members of the `WITH` name each other, since PostgreSQL orders them by that alone.
 */
const recordOf = (isAudited: boolean): Statement => ({
  name: isAudited ? 'sign-in' : 'sign-in-unaudited',
  text: `
    WITH given AS MATERIALIZED (
      SELECT s.*, CASE
          WHEN ${hasMostSessions('s.user_id')} THEN NULL
          WHEN ${isDeviceBeyond('s.user_id', 's.device_id')} THEN NULL
          ELSE true
        END AS has_room -- or NULL, since the planner expects few of those
      FROM unnest(${arrays}) AS s (${names}),
        set_config('lock_timeout', coalesce(${LOCK_TIMEOUT}, current_setting('lock_timeout')), true)
    ), signing_in AS (SELECT * FROM given WHERE has_room IS NOT NULL
    ), ${upsertUsers('signing_in', 'signed_in_user')}, signed_in AS MATERIALIZED (
      SELECT signing_in.* FROM signing_in JOIN signed_in_user USING (user_id)
    ), device AS (${upsertDevices('signed_in', 'signed_in_user')}
    ), ${appendToEach('device.signed_in', 'device', HISTORY)}, refresh_token AS (${insertRefreshTokens('signed_in')}
    ), access_token AS (${insertAccessTokens('signed_in', 'counter')}
    )${
      isAudited
        ? `, audit_event AS (${insertSignInEvents('signed_in')}
    )`
        : ''
    }
    SELECT user_id AS "userId", id, event_offset, data, sent_at, NULL AS refused FROM channel_event
    UNION ALL
    SELECT user_id, NULL, NULL, NULL, NULL, CASE WHEN ${hasMostSessions('given.user_id')} THEN 'session' ELSE 'device' END
    FROM given WHERE has_room IS NULL
    UNION ALL
    SELECT user_id, NULL, NULL, NULL, NULL, CASE WHEN suspended_at IS NULL THEN 'claims' ELSE 'suspended' END
    FROM signing_in LEFT JOIN held_user USING (user_id) WHERE user_id NOT IN (SELECT user_id FROM signed_in_user)`,
});

type Row = SignedInRow & { readonly userId: string; readonly refused: Refused | null };

/** One locked user must not delay the others of a batch. */
const BATCH_LOCK_TIMEOUT = '50ms';
/** SQLSTATEs of lock conflicts: serialization_failure, deadlock_detected, lock_not_available. */
const CONFLICTS = new Set<unknown>(['40001', '40P01', '55P03']);

const SINGLE = Symbol('single');

/** Batches concurrent sign-ins into one statement (docs/benchmark.md). */
export class BatchedSignIns extends SignInWriter {
  private readonly batched: (signIn: SignIn) => Promise<Written | typeof SINGLE>;
  private readonly queue = new OneAtATime('too many sign-ins of one user');
  private readonly record: Statement;

  constructor(
    private readonly sql: Sql,
    private readonly settings: Pick<Settings, 'channelHistory'>,
    private readonly audit: Pick<AuditStore, 'isOn' | 'publish'>,
  ) {
    super();
    this.record = recordOf(audit.isOn);
    this.batched = sql.batched('sign-in', (signIns: SignIn[]) => this.writeEach(signIns));
  }

  async write(signIn: SignIn): Promise<Written> {
    const began = performance.now();
    const written = await this.batched(signIn);
    if (written !== SINGLE) return written;
    const { userId } = signIn.session;
    return this.queue.run(userId, async () => (await this.execute([signIn], null)).get(userId), began);
  }

  /**
   * Batches the first sign-in of each user, since one statement cannot write a row twice. The others are written singly, as are all
   * if the batch meets a lock or a used DPoP proof.
   */
  private async writeEach(signIns: readonly SignIn[]): Promise<(Written | typeof SINGLE)[]> {
    const firsts = new Map<string, SignIn>();
    for (const signIn of signIns) {
      if (!firsts.has(signIn.session.userId)) firsts.set(signIn.session.userId, signIn);
    }
    try {
      const rows = await this.execute([...firsts.values()], BATCH_LOCK_TIMEOUT);
      return signIns.map((signIn) => {
        const { userId } = signIn.session;
        return firsts.get(userId) === signIn ? rows.get(userId) : SINGLE;
      });
    } catch (error) {
      const isSingle = CONFLICTS.has(errorCode(error)) || (signIns.length > 1 && isProofUsed(error));
      if (!isSingle) throw error;
      return signIns.map(() => SINGLE);
    }
  }

  /**
   * Records sign-ins of different users: all of them, or none. Sign-ins that are refused are left out. The bounds are
   * checked before the user is locked: concurrent sign-ins of one user, at most three per instance, may exceed them by two.
   * @param lockTimeout as PostgreSQL's `lock_timeout`; null: only the statement timeout applies
   * @returns result by user id
   */
  async execute(signIns: readonly SignIn[], lockTimeout: string | null): Promise<Map<string, Written>> {
    const columns = COLUMNS.map(([, , valueOf]) => signIns.map(valueOf));
    const { channelHistory } = this.settings;
    const rows = await this.sql.query<Row>(this.record, [...columns, channelHistory, lockTimeout]);
    const written = new Map(rows.map(({ userId, refused, ...row }) => [userId, refused ?? row]));
    const recorded = signIns.filter(({ session }) => typeof written.get(session.userId) !== 'string');
    this.audit.publish(recorded.map((signIn) => auditRowOf(signIn.session.sessionId, auditOf(signIn))));
    return written;
  }
}
