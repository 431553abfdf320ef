import { type Place } from '../http/parameters/cursor.js';
import { placeOf } from '../database/page.js';
import { searchKey } from './search-key.js';

/** What a search asks for; each member that is given restricts the result. */
export interface UserFilter {
  /** Prefix of the name or of the e-mail address. */
  readonly prefix?: string | undefined;
  readonly email?: string | undefined;
  /** One of the effective `roles`. */
  readonly role?: string | undefined;
  readonly suspended?: boolean | undefined;
  readonly provider?: string | undefined;
  readonly userId?: string | undefined;
}

/** Users that a search by an index reads; if more than so many of one week match, it ends before that week. */
export const MOST_READ = 8000;

// All in UTC: the expression that the indexes begin with.
const WEEK = `date_trunc('week', created_at AT TIME ZONE 'UTC')::date`;
const BEGIN_OF_WEEK = `(week::timestamp AT TIME ZONE 'UTC')`;
const EPOCH = `date '1970-01-01'`;
const ROLES_BY_WEEK = `jsonb_set('{}', ARRAY[(${WEEK} - ${EPOCH})::text], claims -> 'roles')`;

/** Before every other id. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** Above every character that a key may have. */
const LAST = '\u{10ffff}';

/** Way to the users that one member of a filter means. */
interface Finder {
  /** Each finds users of the week `week` by an index; together they find all that are meant. */
  readonly ofWeek: readonly string[];
  /** Whether PostgreSQL reads the index as a bitmap only (GIN). */
  readonly needsBitmap: boolean;
}

interface Conditions {
  /** Holds for users that are meant. */
  readonly fits: string;
  readonly finders: readonly Finder[];
  readonly values: readonly unknown[];
}

/** Parameters of the place come first. */
const FIRST_PARAMETER = 3;

export function conditionsOf(filter: UserFilter): Conditions {
  const { userId, email, prefix, role, suspended, provider } = filter;
  const values: unknown[] = [];
  const parameter = (value: unknown): string => `$${FIRST_PARAMETER - 1 + values.push(value)}`;
  const all = ['removed_at IS NULL'];
  const finders: Finder[] = [];
  const findBy = (...ofWeek: readonly string[]): void => {
    finders.push({ ofWeek: ofWeek.map((one) => `${WEEK} = week AND ${one}`), needsBitmap: false });
  };
  if (userId !== undefined) all.push(`user_id = ${parameter(userId)}`);
  if (email !== undefined) {
    all.push(`email_key = ${parameter(searchKey(email))}`);
    findBy(all.at(-1)!);
  }
  if (role !== undefined) {
    const text = `${parameter(role)}::text`;
    all.push(`claims -> 'roles' ? ${text}`);
    const ofWeek = `claims ? 'roles' AND ${ROLES_BY_WEEK} @> jsonb_build_object((week - ${EPOCH})::text, jsonb_build_array(${text}))`;
    finders.push({ ofWeek: [ofWeek], needsBitmap: true });
  }
  if (prefix !== undefined) {
    const key = searchKey(prefix);
    const [from, to] = [parameter(key), parameter(key + LAST)];
    const begins = ['username_key', 'email_key'].map((name) => `${name} >= ${from} AND ${name} < ${to}`);
    all.push(`(${begins.join(' OR ')})`);
    // In the order of the index: no other one is worth while.
    findBy(`${begins[0]!} ORDER BY username_key`, `${begins[1]!} ORDER BY email_key`);
  }
  if (suspended !== undefined) all.push(`suspended_at IS ${suspended ? 'NOT NULL' : 'NULL'}`);
  if (suspended === true) findBy(all.at(-1)!);
  if (provider !== undefined) {
    all.push(`provider = ${parameter(provider)}`);
    findBy(all.at(-1)!);
  }
  return { fits: all.join(' AND '), finders, values };
}

// `$1` and `$2` are a place. With `infinity`, the list begins at the newest user.
const BEFORE = `(created_at, user_id) < (coalesce('epoch'::timestamptz + $1::bigint * interval '1 microsecond', 'infinity'),
      coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))`;
const NEWEST_FIRST = 'ORDER BY created_at DESC, user_id DESC';
const FOUND = `user_id AS id, ${placeOf('created_at')} AS place`;

export interface Found extends Place {
  /** The user is meant. */
  readonly fits: boolean;
  /** The search goes on after this place; null: it has not ended here. The row itself is before it. */
  readonly endPlace: string | null;
  readonly endId: string | null;
}

/**
 * Selects users that are meant, newest first, week by week by one index. The costs depend on the number of weeks that have users (some 10 µs
 * each), not on the number of users that match: it ends after MOST_READ users, and before a week in which more than MOST_READ match.
 */
export function selectByWeek({ ofWeek }: Finder, fits: string, limit: number): string {
  const branches = ofWeek.map(
    (condition) => `(
            SELECT user_id, created_at, ${BEFORE} AND ${fits} AS fits FROM users WHERE ${condition} LIMIT ${MOST_READ + 1})`,
  );
  return `
    WITH RECURSIVE weeks (week) AS (
      (SELECT ${WEEK} FROM users WHERE ${BEFORE} ${NEWEST_FIRST} LIMIT 1)
      UNION ALL
      SELECT (SELECT ${WEEK} FROM users WHERE created_at < ${BEGIN_OF_WEEK} ORDER BY created_at DESC LIMIT 1)
      FROM weeks WHERE week IS NOT NULL
    )
    SELECT id, place, fits AND crowded IS NULL AS fits,
      coalesce(crowded, CASE WHEN n = ${MOST_READ} THEN place END) AS "endPlace",
      CASE WHEN crowded IS NULL THEN id ELSE '${FIRST_ID}' END AS "endId"
    FROM (
      SELECT *, row_number() OVER () AS n FROM (
        SELECT found.* FROM (SELECT week FROM weeks WHERE week IS NOT NULL) AS w CROSS JOIN LATERAL (
          SELECT ${FOUND}, fits,
            CASE WHEN matches > ${MOST_READ} THEN ${placeOf(`${BEGIN_OF_WEEK} + interval '7 days'`)} END AS crowded
          FROM (
            SELECT *, count(*) OVER () AS matches FROM (${branches.join(' UNION ')}
            ) AS either
          ) AS counted ${NEWEST_FIRST}
        ) AS found LIMIT ${MOST_READ}
      ) AS read
    ) AS numbered
    WHERE fits OR crowded IS NOT NULL OR n = ${MOST_READ} LIMIT ${limit}`;
}

/** Selects users that are meant among `length` users, newest first. */
export function selectByWalk(fits: string, length: number, limit: number): string {
  return `
    SELECT id, place, fits, CASE WHEN n = ${length} THEN place END AS "endPlace", id AS "endId" FROM (
      SELECT *, row_number() OVER () AS n FROM (
        SELECT ${FOUND}, coalesce(${fits}, false) AS fits FROM users
        WHERE ${BEFORE} ${NEWEST_FIRST} LIMIT ${length}
      ) AS read
    ) AS numbered
    WHERE fits OR n = ${length} LIMIT ${limit}`;
}

/** Selects users that are meant by the index that PostgreSQL chooses: one user by the id, or on Citus, where each node reads its own users. */
export function selectPlain(fits: string, limit: number): string {
  return `
    SELECT ${FOUND}, true AS fits, NULL AS "endPlace", NULL AS "endId" FROM users
    WHERE ${BEFORE} AND ${fits} ${NEWEST_FIRST} LIMIT ${limit}`;
}
