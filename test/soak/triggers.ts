import { Client } from 'pg';

/** Seconds. */
const KEY_LIFE = 120;

/**
 * Idempotency keys are kept for a day, and no setting changes that: here the database shortens it, so that they come and go as the
 * rows of all other tables.
 */
export async function shortenKeys(databaseUrl: string): Promise<void> {
  await run(
    databaseUrl,
    `CREATE FUNCTION soak_short_life() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       NEW.expires_at := least(NEW.expires_at, now() + interval '${KEY_LIFE} s');
       RETURN NEW;
     END $$;
     CREATE TRIGGER soak_short_life BEFORE INSERT ON idempotency_keys
       FOR EACH ROW WHEN (NEW.expires_at < 'infinity') -- those are of a planted leak
       EXECUTE FUNCTION soak_short_life();`,
  );
}

/**
 * Plants a leak: of a table's rows one in so many comes back when it is removed, and never expires.
 * @param table one whose rows expire
 */
export async function leak(databaseUrl: string, table: string, oneIn: number): Promise<void> {
  if (!/^[a-z_]+$/.test(table)) throw new Error(`no table: ${table}`);
  await run(
    databaseUrl,
    `CREATE SEQUENCE soak_removed;
     CREATE FUNCTION soak_leak() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       IF nextval('soak_removed') % ${oneIn} = 0 THEN
         OLD.expires_at := 'infinity';
         INSERT INTO ${table} SELECT OLD.*;
       END IF;
       RETURN NULL;
     END $$;
     CREATE TRIGGER soak_leak AFTER DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION soak_leak();`,
  );
}

async function run(databaseUrl: string, statements: string): Promise<void> {
  const client = new Client(databaseUrl);
  await client.connect();
  try {
    await client.query(statements);
  } finally {
    await client.end();
  }
}
