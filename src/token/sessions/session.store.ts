import type { EntityManager } from 'typeorm';
import { plainArray } from '../../database/batching.js';
import type { Sql } from '../../database/sql.js';
import type { SessionIds } from '../../events.js';
import { OPEN } from './session.sql.js';

/** Sessions of a user that are meant; `device`: all of that device. */
export type SessionScope = 'session' | 'device' | 'others' | 'all';

/** Session that a scope refers to; without `sessionId` if the caller is not the user. */
export type ScopeOf = Omit<SessionIds, 'sessionId'> & { readonly sessionId: string | null };

export type Ended = Pick<SessionIds, 'sessionId' | 'deviceId'>;

/** Selects the device of session `$2` of user `$1`, live or not. */
export const DEVICE_OF_SESSION = {
  name: 'session-device',
  text: 'SELECT device_id AS "deviceId" FROM refresh_tokens WHERE user_id = $1 AND session_id = $2',
};

/** Sessions that one statement ends, well within its timeout. */
export const SLICE = 1000;

// A sign-out expires the session (spec §2.2: a refresh token "ends only by expiry") and marks it as signed out. The ID token goes
// at once, as do address and user agent, since the row stays for the feed: it then holds ids only.
const end = (which: string): string => `
  UPDATE refresh_tokens SET signed_out_at = now(), expires_at = least(expires_at, now()), id_token = NULL, address = NULL,
    user_agent = NULL
  WHERE user_id = $1 AND ${which}
  RETURNING session_id AS "sessionId", device_id AS "deviceId"`;

/**
 * Makes the statement that ends a slice of the sessions of user `$1` for which a condition holds. `FOR UPDATE` locks in one order,
 * and skips sessions that a concurrent sign-out has ended.
 */
const ending = (which: string): string =>
  end(`session_id = ANY (ARRAY(
    SELECT session_id FROM refresh_tokens
    WHERE user_id = $1 AND ${OPEN} AND (${which})
    ORDER BY device_id, expires_at, session_id LIMIT ${SLICE} FOR UPDATE))`);

const END_ONE = end('session_id = $2 AND signed_out_at IS NULL');

const END = ending(`
    $2 = 'all'
    OR $2 = 'device' AND device_id = $4
    OR $2 = 'others' AND CASE WHEN $4::uuid IS NULL THEN session_id <> $3 ELSE device_id IS DISTINCT FROM $4 END`);

/** Whether a user has a session in a scope that a sign-out would end, as SQL. Each condition is a range of the index. */
const hasOpen = (user: string, scope: string, session: string, device: string): string => {
  const sessions = `FROM refresh_tokens WHERE user_id = ${user}`;
  const exists = (which: string): string => `EXISTS (SELECT ${sessions} AND ${OPEN} AND ${which})`;
  return `CASE ${scope}
      WHEN 'session' THEN EXISTS (SELECT ${sessions} AND session_id = ${session} AND signed_out_at IS NULL)
      WHEN 'device' THEN ${exists(`device_id = ${device}`)}
      WHEN 'others' THEN CASE WHEN ${device} IS NULL THEN ${exists(`session_id <> ${session}`)}
        ELSE ${exists(`device_id < ${device}`)} OR ${exists(`device_id > ${device}`)} OR ${exists('device_id IS NULL')} END
      ELSE ${exists('true')} END`;
};

const HAS_OPEN = {
  name: 'session-has-open',
  text: `SELECT ${hasOpen('$1', '$2::text', '$3::uuid', '$4::uuid')} AS "hasOpen"`,
};

const HAVE_OPEN = {
  name: 'sessions-have-open',
  text: `
    SELECT ${hasOpen('n.user_id', 'n.scope', 'n.session_id', 'n.device_id')} AS "hasOpen"
    FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[])
      WITH ORDINALITY AS n (user_id, scope, session_id, device_id, place)
    ORDER BY place`,
};

export interface ToEnd {
  readonly scope: SessionScope;
  readonly target: ScopeOf;
}

/** Finds out, without a lock, for which of several sign-outs there is a session to end. */
export async function haveOpenSessions(sql: Sql, signOuts: readonly ToEnd[]): Promise<boolean[]> {
  const columns = [
    signOuts.map(({ target }) => target.userId),
    signOuts.map(({ scope }) => scope),
    signOuts.map(({ target }) => target.sessionId),
    signOuts.map(({ target }) => target.deviceId),
  ];
  const rows =
    signOuts.length === 1
      ? await sql.query<{ hasOpen: boolean }>(
          HAS_OPEN,
          columns.map(([value]) => value),
        )
      : await sql.query<{ hasOpen: boolean }>(HAVE_OPEN, columns.map(plainArray));
  return rows.map((row) => row.hasOpen);
}

/**
 * Ends a slice of sessions, device by device. After the commit their access tokens are rejected, since verification reads the
 * session; EndedSessions notifies the instances that hold their sockets.
 * @returns the ended sessions; fewer than SLICE after the last slice
 */
export function endSessions(
  manager: EntityManager,
  scope: SessionScope,
  { userId, sessionId, deviceId }: ScopeOf,
): Promise<Ended[]> {
  return scope === 'session'
    ? endedBy(manager, END_ONE, [userId, sessionId])
    : endedBy(manager, END, [userId, scope, sessionId, deviceId]);
}

async function endedBy(manager: EntityManager, text: string, values: unknown[]): Promise<Ended[]> {
  const [ended] = await manager.query<[Ended[], number]>(text, values);
  return ended;
}

/** Names of sessions at a provider, as hashes (see Session). At least one is present. */
export interface NamesAtProvider {
  readonly session: Buffer | null;
  readonly subjects: readonly Buffer[];
}

/** Users that one name may have: a provider with one name for all sessions must not end all of them. */
const MOST_USERS = 100;

/**
 * Condition on a row, from the parameters for session and subjects (docs/providers.md#back-channel-logout).
 */
const isMeant = (session: string, subjects: string): string => `
    provider_session = ${session}
    OR provider_subject = ANY (${subjects}::bytea[]) AND (${session}::bytea IS NULL OR provider_session IS NULL)`;

const SUBJECTS = `
  SELECT DISTINCT provider_subject AS subject FROM refresh_tokens
  WHERE provider_session = $1 AND provider_subject IS NOT NULL LIMIT ${MOST_USERS}`;
// MATERIALIZED: else PostgreSQL may read all sessions by user_id until it has found as many users as LIMIT says.
const USERS = `
  WITH meant AS MATERIALIZED (
    SELECT user_id FROM refresh_tokens WHERE signed_out_at IS NULL AND (${isMeant('$1', '$2')})
  )
  SELECT DISTINCT user_id AS "userId" FROM meant ORDER BY user_id LIMIT ${MOST_USERS + 1}`;

const END_AT_PROVIDER = ending(isMeant('$2', '$3'));

/** Error: more than MOST_USERS users have one name. */
export class TooManyUsers extends Error {
  override readonly name = 'TooManyUsers';
}

/**
 * Finds the users with sessions that are meant and not signed out, ordered by id. If the provider names only the session, its
 * subjects are added to the names: other sessions of the subject may be meant as well.
 * @throws TooManyUsers
 */
export async function usersAtProvider(
  manager: EntityManager,
  names: NamesAtProvider,
): Promise<{ readonly userIds: readonly string[]; readonly known: NamesAtProvider }> {
  const { session } = names;
  let { subjects } = names;
  if (session !== null && subjects.length === 0) {
    const rows = await manager.query<{ subject: Buffer }[]>(SUBJECTS, [session]);
    subjects = rows.map(({ subject }) => subject);
  }
  const users = await manager.query<{ userId: string }[]>(USERS, [session, subjects]);
  if (users.length > MOST_USERS) throw new TooManyUsers(`more than ${MOST_USERS} users have the same name`);
  return { userIds: users.map(({ userId }) => userId), known: { session, subjects } };
}

/** Ends a slice of the sessions of a user that are meant, as `endSessions` does. */
export function endSessionsAtProvider(
  manager: EntityManager,
  userId: string,
  { session, subjects }: NamesAtProvider,
): Promise<Ended[]> {
  return endedBy(manager, END_AT_PROVIDER, [userId, session, subjects]);
}
