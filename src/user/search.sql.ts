import { placeOf, type Place } from '../http/parameters/cursor.js';
import { searchKey } from './search-key.js';

/** What a search asks for; each member that is given restricts the result. */
interface Filter {
  /** Prefix of the name or of the e-mail address. */
  readonly prefix?: string | undefined;
  readonly email?: string | undefined;
  /** One of the effective `roles`. */
  readonly role?: string | undefined;
  readonly suspended?: boolean | undefined;
  readonly provider?: string | undefined;
  readonly userId?: string | undefined;
}

/** Users of one day that an index may find. If it finds more, the day is walked. */
export const MOST_OF_DAY = 2000;

/** Users that a walk reads. */
export const LONGEST_WALK = 5000;

// All in UTC: the expressions of the indexes `users_day_…`.
const DAY = `(created_at AT TIME ZONE 'UTC')::date`;
const BEGIN_OF_DAY = `(day::timestamp AT TIME ZONE 'UTC')`;
const EPOCH = `date '1970-01-01'`;
const ROLES_BY_DAY = `jsonb_set('{}', ARRAY[(${DAY} - ${EPOCH})::text], claims -> 'roles')`;

/** Above every character that a key may have. */
const LAST = '\u{10ffff}';

/** Filter as SQL. */
interface Conditions {
  /** Holds for users that are meant. */
  readonly fits: string;
  /** Each finds users of the day `day` by an index; together they find all that are meant. Empty: only a walk finds them. */
  readonly ofDay: readonly string[];
  /** Whether the index is read as a bitmap only (GIN). */
  readonly needsBitmap: boolean;
  readonly values: readonly unknown[];
}

/** Parameters of the place come first. */
const FIRST_PARAMETER = 3;

export function conditionsOf(filter: Filter): Conditions {
  const { userId, email, prefix, role, suspended, provider } = filter;
  const values: unknown[] = [];
  const parameter = (value: unknown): string => `$${FIRST_PARAMETER - 1 + values.push(value)}`;
  const all: string[] = [];
  let finder: Pick<Conditions, 'ofDay' | 'needsBitmap'> | undefined;
  /** The first one with an index finds users, so the order is that of how few it may find. */
  const add = (fits: string, ofDay: readonly string[] = [fits], needsBitmap = false): void => {
    all.push(fits);
    if (ofDay.length > 0) finder ??= { ofDay: ofDay.map((one) => `${DAY} = day AND ${one}`), needsBitmap };
  };
  if (userId !== undefined) add(`user_id = ${parameter(userId)}`, []);
  if (email !== undefined) add(`email_key = ${parameter(searchKey(email))}`);
  if (prefix !== undefined) {
    const key = searchKey(prefix);
    const [from, to] = [parameter(key), parameter(key + LAST)];
    const begins = ['username_key', 'email_key'].map((name) => `${name} >= ${from} AND ${name} < ${to}`);
    add(`(${begins.join(' OR ')})`, begins);
  }
  if (role !== undefined) {
    const text = `${parameter(role)}::text`;
    const roles = `jsonb_build_object((day - ${EPOCH})::text, jsonb_build_array(${text}))`;
    add(`claims -> 'roles' ? ${text}`, [`claims ? 'roles' AND ${ROLES_BY_DAY} @> ${roles}`], true);
  }
  if (suspended === true) add('suspended_at IS NOT NULL');
  if (provider !== undefined) add(`provider = ${parameter(provider)}`);
  if (suspended === false) add('suspended_at IS NULL', []);
  const { ofDay = [], needsBitmap = false } = finder ?? {};
  return { fits: all.join(' AND ') || 'true', ofDay, needsBitmap, values };
}

// `$1` and `$2` are a place. With `infinity`, the list begins at the newest user.
const BEFORE = `(created_at, user_id) < (coalesce('epoch'::timestamptz + $1::bigint * interval '1 microsecond', 'infinity'),
      coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))`;
const NEWEST_FIRST = 'ORDER BY created_at DESC, user_id DESC';
const FOUND = `user_id AS id, ${placeOf('created_at')} AS place`;

/** Row of a search. */
export interface Found extends Place {
  /** The user is meant. */
  readonly fits: boolean;
  /** The search goes on behind this place: a walk has ended, or the index found more than MOST_OF_DAY users of the day, and the row says nothing. */
  readonly end: string | null;
}

/**
 * Selects users that are meant, day by day from the newest, and newest first. The costs depend on the number of days that have users
 * (some 10 µs each), not on the number of users that match: each day is found in an index, and at most MOST_OF_DAY of it are read.
 */
export function selectByDay({ fits, ofDay }: Conditions, limit: number): string {
  const branches = ofDay.map(
    (condition) => `(
          SELECT user_id, created_at, ${BEFORE} AND ${fits} AS fits FROM users
          WHERE ${condition} LIMIT ${MOST_OF_DAY + 1})`,
  );
  return `
    WITH RECURSIVE days (day) AS (
      (SELECT ${DAY} FROM users WHERE ${BEFORE} ${NEWEST_FIRST} LIMIT 1)
      UNION ALL
      SELECT (SELECT ${DAY} FROM users WHERE created_at < ${BEGIN_OF_DAY} ORDER BY created_at DESC LIMIT 1)
      FROM days WHERE day IS NOT NULL
    )
    SELECT found.* FROM (SELECT day FROM days WHERE day IS NOT NULL) AS d CROSS JOIN LATERAL (
      SELECT ${FOUND}, fits, CASE WHEN matches > ${MOST_OF_DAY} THEN ${placeOf(`${BEGIN_OF_DAY} + interval '1 day'`)} END AS end
      FROM (
        SELECT *, count(*) OVER () AS matches FROM (${branches.join(' UNION ')}
        ) AS either
      ) AS counted
      WHERE fits OR matches > ${MOST_OF_DAY} ${NEWEST_FIRST} LIMIT ${limit}
    ) AS found LIMIT ${limit}`;
}

/** Selects users that are meant among LONGEST_WALK users, newest first, and the last one of those. */
export function selectByWalk({ fits }: Conditions, limit: number): string {
  return `
    SELECT id, place, fits, CASE WHEN n = ${LONGEST_WALK} THEN place END AS end FROM (
      SELECT *, row_number() OVER () AS n FROM (
        SELECT ${FOUND}, coalesce(${fits}, false) AS fits FROM users
        WHERE ${BEFORE} ${NEWEST_FIRST} LIMIT ${LONGEST_WALK}
      ) AS walked
    ) AS numbered
    WHERE fits OR n = ${LONGEST_WALK} LIMIT ${limit}`;
}

/** Selects users that are meant by the index that PostgreSQL chooses: one user by the id, or on Citus, where each node reads its own users. */
export function selectPlain({ fits }: Conditions, limit: number): string {
  return `
    SELECT ${FOUND}, true AS fits, NULL AS end FROM users
    WHERE ${BEFORE} AND ${fits} ${NEWEST_FIRST} LIMIT ${limit}`;
}
