import type { Client } from 'pg';

/** Days over which the events spread. */
export const DAYS = 90;
const USERS = 200_000;
const ADDRESSES = 100_000;
const SLICE = 1_000_000;

/** Of each hundred events, one is of the heavy address, and one of the heavy user, device and session. */
export const HEAVY = { user: 0, device: 0, session: 0, address: '10.255.255.255' } as const;

/** Ids of the n-th session, device, user and request, as text for MD5. */
export const ID = { session: 's', device: 'd', user: 'u', request: 'r' } as const;
const id = (kind: keyof typeof ID, n: string): string => `md5('${ID[kind]}' || ${n})::uuid`;

/** Address of a user, and of the neighbours who share it. */
export function addressOf(user: number): string {
  const n = (user * 7) % ADDRESSES;
  return `10.${Math.floor(n / 65_536)}.${Math.floor(n / 256) % 256}.${n % 256}`;
}

// Lean events without a user agent, in the order of their times: $1 to $2 of $3 events, until $4.
const INSERT = `
  INSERT INTO audit_events (user_id, at, id, event, result, error, session_id, device_id, provider, address,
    actor_type, request_id, new_device, new_network)
  SELECT CASE kind WHEN 'sign_in_refused' THEN '00000000-0000-0000-0000-000000000000' ELSE ${id('user', 'u')} END,
    $4::timestamptz - ($3 - n) * (interval '${DAYS} days' / $3), gen_random_uuid(), kind,
    CASE WHEN kind LIKE '%_refused' THEN 'refused' ELSE 'ok' END,
    CASE WHEN kind LIKE '%_refused' THEN 'error_' || floor(15 * power(random(), 3)) END,
    CASE kind WHEN 'refresh_refused' THEN ${id('session', '0')} WHEN 'sign_in_refused' THEN NULL ELSE ${id('session', '(1 + n / 2)')} END,
    CASE kind WHEN 'sign_in_refused' THEN NULL ELSE ${id('device', '(3 * u + CASE u WHEN 0 THEN 0 ELSE n % 3 END)')} END,
    'provider_' || n % 3,
    CASE WHEN n % 100 = 0 THEN '${HEAVY.address}' ELSE '10.' || a / 65536 || '.' || a / 256 % 256 || '.' || a % 256 END,
    'user', ${id('request', 'n')},
    CASE kind WHEN 'sign_in' THEN n % 20 = 5 END, CASE kind WHEN 'sign_in' THEN n % 10 = 6 END
  FROM (
    SELECT n, u, u::bigint * 7 % ${ADDRESSES} AS a, CASE WHEN n % 100 = 1 THEN 'refresh_refused' WHEN n % 100 < 4 AND n % 100 > 0
      THEN 'sign_in_refused' WHEN n % 100 = 4 THEN 'claims_changed' WHEN n % 100 < 60 THEN 'sign_in' ELSE 'sign_out' END AS kind
    FROM (
      SELECT n, CASE WHEN n % 100 = 1 THEN 0 ELSE 1 + floor(random() * ${USERS})::int END AS u
      FROM generate_series($1::int, $2::int) AS n
    ) AS numbered
  ) AS planned`;

/** Fills the empty table; the indexes are built afterwards. */
export async function fillAudit(admin: Client, events: number, end: Date): Promise<void> {
  const { rows: indexes } = await admin.query<{ name: string; text: string }>(
    `SELECT indexname AS name, indexdef AS text FROM pg_indexes WHERE tablename = 'audit_events'`,
  );
  await admin.query('ALTER TABLE audit_events DROP CONSTRAINT audit_events_pkey');
  await admin.query('ALTER TABLE audit_events SET UNLOGGED');
  for (const { name } of indexes) await admin.query(`DROP INDEX IF EXISTS ${name}`);
  for (let from = 1; from <= events; from += SLICE) {
    await admin.query(INSERT, [from, Math.min(from + SLICE - 1, events), events, end]);
    console.error(`${from + SLICE - 1} events`);
  }
  for (const { name, text } of indexes) {
    await admin.query(text);
    console.error(`index ${name}`);
  }
  await admin.query('ANALYZE audit_events');
}
