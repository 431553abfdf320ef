import type { Client } from 'pg';

/** Fills tables without their indexes, and makes those afterwards: each is sorted once, in place of a search for each row. */
export async function withoutIndexes(
  admin: Client,
  tables: readonly string[],
  work: () => Promise<void>,
): Promise<void> {
  const { rows: keys } = await admin.query<{ place: string; name: string; text: string }>(
    `SELECT conrelid::regclass::text AS place, quote_ident(conname) AS name, pg_get_constraintdef(oid) AS text
     FROM pg_constraint WHERE contype IN ('p', 'u') AND conrelid::regclass::text = ANY($1)`,
    [tables],
  );
  for (const { place, name } of keys) await admin.query(`ALTER TABLE ${place} DROP CONSTRAINT ${name}`);
  const { rows: indexes } = await admin.query<{ name: string; text: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS text
     FROM pg_index WHERE indrelid::regclass::text = ANY($1)`,
    [tables],
  );
  for (const { name } of indexes) await admin.query(`DROP INDEX ${name}`);
  await work();
  for (const { place, name, text } of keys) {
    await admin.query(`ALTER TABLE ${place} ADD CONSTRAINT ${name} ${text}`);
  }
  for (const { text } of indexes) await admin.query(text);
}
