import { escapeLiteral } from 'pg';
import { errorMessage } from './error-facts.js';
import { SUPERUSER } from './cluster.js';
import { giveToService, isOfSuperuser, readPassword } from './password-file.js';
import { runAsSuperuser, type StoppedCluster } from './single-user.js';

/** The service's role, and its database. */
export const SERVICE = 'latchkey';

/**
 * Once in a cluster's life: makes the service's role, which owns its database and nothing else, and leaves the
 * superuser without a password, so that nobody can log in as it. A cluster of 0.1.0, in which superuser and service had
 * the same password, is converted with all its data.
 *
 * All of it is one transaction, except that the empty database is made before it. If this is killed at any moment, the next
 * start does what is missing. The server must not run.
 */
export async function provision(cluster: StoppedCluster): Promise<void> {
  if (!isOfSuperuser(cluster.path)) return;
  await runAsSuperuser(cluster, 'postgres', [`CREATE DATABASE ${SERVICE}`]).catch((error: unknown) => {
    if (!errorMessage(error).includes('already exists')) throw error;
  });
  await runAsSuperuser(cluster, SERVICE, [
    'BEGIN',
    'SET LOCAL search_path = pg_catalog',
    CREATE_ROLE,
    `ALTER ROLE ${SERVICE} NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS LOGIN
       PASSWORD ${escapeLiteral(readPassword(cluster.path))}`,
    `ALTER ROLE ${SUPERUSER} PASSWORD NULL`,
    `ALTER DATABASE ${SERVICE} OWNER TO ${SERVICE}`,
    HAND_OVER,
    'COMMIT',
  ]);
  giveToService(cluster.path);
}

const CREATE_ROLE = `DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${SERVICE}') THEN CREATE ROLE ${SERVICE}; END IF;
END $$`;

// Hands over the schema `public`, which belongs to the role pg_database_owner, and everything that the superuser owns in the
// database (a dump may have been restored as superuser). Object by object: PostgreSQL keeps no list of what that user owns,
// so REASSIGN OWNED refuses it. Objects that belong to another one go with it ('i', 'a'); those of an extension stay ('e').
const HAND_OVER = `DO $$
DECLARE
  command text;
BEGIN
  FOR command IN
    WITH objects (catalog, id, kind, name, namespace, owner) AS (
      SELECT tableoid, oid, 'SCHEMA', quote_ident(nspname), oid, nspowner FROM pg_namespace
      UNION ALL
      SELECT tableoid, oid, 'TABLE', oid::regclass::text, relnamespace, relowner FROM pg_class
       WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
      UNION ALL
      SELECT tableoid, oid, 'TYPE', oid::regtype::text, typnamespace, typowner FROM pg_type
      UNION ALL
      SELECT tableoid, oid, 'ROUTINE', oid::regprocedure::text, pronamespace, proowner FROM pg_proc
    )
    SELECT format('ALTER %s %s OWNER TO ${SERVICE}', kind, name) FROM objects
     WHERE owner IN ('${SUPERUSER}'::regrole, 'pg_database_owner'::regrole)
       AND namespace NOT IN (SELECT oid FROM pg_namespace WHERE nspname ~ '^(pg_|information_schema$)')
       AND NOT EXISTS (
         SELECT FROM pg_depend
          WHERE classid = catalog AND objid = id AND objsubid = 0
            AND (deptype IN ('e', 'i') OR deptype = 'a' AND objid IN (SELECT seqrelid FROM pg_sequence))
       )
  LOOP
    EXECUTE command;
  END LOOP;
END $$`;
