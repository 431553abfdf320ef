import { setTimeout as delay } from 'node:timers/promises';
import { AUTHENTICATION, isDatabaseAway } from '../../errors/database-error.js';
import { errorCode, errorMessage, errorReason } from '../../errors/error-facts.js';

const RETRY_MS = 250;
export const LOCK_NOT_AVAILABLE = '55P03';

export interface RetryOptions {
  /** The first failure after this time is final. */
  readonly timeoutMs: number;
  /** Ends the retries at once with its reason. */
  readonly signal: AbortSignal;
  /** Receives one line for each new reason to wait. */
  readonly log: (line: string) => void;
}

/**
 * Retries work at the start while the database is unreachable, slow or read-only, or a table of a migration
 * is locked (docs/production.md#what-the-start-refuses).
 * @throws at once an error that waiting does not change; after the time-out the last failure's reason
 */
export async function retry<Result>(
  work: (msLeft: number) => Promise<Result>,
  { timeoutMs, signal, log }: RetryOptions,
): Promise<Result> {
  const deadline = Date.now() + timeoutMs;
  const logged = new Set<string>();
  for (;;) {
    signal.throwIfAborted();
    try {
      return await work(Math.max(0, deadline - Date.now()));
    } catch (error) {
      signal.throwIfAborted();
      const wrongSetting = describeWrongSetting(error);
      if (wrongSetting) throw new Error(wrongSetting, { cause: error });
      const code = String(errorCode(error));
      const mayPass = isDatabaseAway(error) && !code.startsWith(AUTHENTICATION);
      if (!mayPass && code !== LOCK_NOT_AVAILABLE) throw error;
      const reason = errorReason(error);
      if (Date.now() >= deadline) {
        const seconds = Math.round(timeoutMs / 1000);
        throw new Error(`the database was not usable within ${seconds} s: ${reason}`, { cause: error });
      }
      if (!logged.has(reason)) log(`waiting for the database: ${reason}`);
      logged.add(reason);
    }
    await delay(RETRY_MS, undefined, { signal });
  }
}

/** What to do about an error with this code or message. */
const ADVICE: readonly [RegExp, string][] = [
  [/does not support SSL/, 'it speaks no TLS: take sslmode out of its URL, or set sslmode=disable'],
  [/client password must be a string/, 'it wants a password, and there is none in its URL and in PGPASSWORD'],
  [
    /unsupported startup parameter/,
    'that is a pooler, such as PgBouncer: set DATABASE_POOLER=transaction, or have it ignore the parameter (docs/production.md)',
  ],
  [
    /session_replication_role/, // only a superuser may set it
    'its triggers and foreign keys are off for this role or database: ALTER ROLE … RESET session_replication_role, or ALTER DATABASE … RESET session_replication_role',
  ],
  [
    // https://nodejs.org/api/tls.html#x509-certificate-error-codes
    /^(DEPTH_ZERO_)?SELF_SIGNED_CERT|^UNABLE_TO_(GET_ISSUER_CERT|VERIFY_LEAF_SIGNATURE)/,
    'if its certificate is of a CA of your own, name the file of that in its URL: sslrootcert=/path/ca.pem',
  ],
  [/^ERR_TLS_CERT_ALTNAME_INVALID/, 'its URL must name the host as the certificate does'],
  [
    // duplicate_table, duplicate_object; another tool's table of migrations
    /^(42P07|42710)|^42703 column "name"/,
    'that of another application stays as it is: give the service a database of its own, or a schema of its own (CREATE SCHEMA latchkey; ALTER ROLE … SET search_path = latchkey); that of a backup means that not all of it was restored: restore it into an empty database (docs/versions.md)',
  ],
  [
    /^3F000/,
    'create the first schema of its search_path (CREATE SCHEMA), or take the setting back (RESET search_path)',
  ],
  [
    /^42501/, // insufficient_privilege
    'make the role of its URL the owner of the schema and of the tables in it (ALTER … OWNER TO), and see whether that role acts as another one (ALTER ROLE … RESET role)',
  ],
];

/** @returns what to do about an error that a wrong setting causes; undefined for any other error */
export function describeWrongSetting(error: unknown): string | undefined {
  const message = errorMessage(error);
  const facts = `${String(errorCode(error))} ${message}`;
  const advice = ADVICE.find(([pattern]) => pattern.test(facts))?.[1];
  return advice && `the database cannot be used: ${message}; ${advice}`;
}
