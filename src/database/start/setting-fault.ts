import { errorCode, errorMessage } from '../statements/error-facts.js';

// https://nodejs.org/api/tls.html#x509-certificate-error-codes: whose certificate is not that of the server that was meant
const NOT_TRUSTED = new Set<unknown>([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

/** What pg says, and what to do about it. */
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
];

const OWN_CA =
  'if its certificate is of a CA of your own, name the file of that in its URL: sslrootcert=/path/ca.pem';
const ADVICE_BY_CODE = new Map<unknown, string>([
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'its URL must name the host as the certificate does'],
  [
    '42501', // insufficient_privilege
    'make the role of its URL the owner of the schema and of the tables in it (ALTER … OWNER TO), and see whether that role acts as another one (ALTER ROLE … RESET role)',
  ],
]);

/** @returns what to do where an error says that settings are wrong, so that waiting does not help; undefined for any other */
export function settingFault(error: unknown): string | undefined {
  const message = errorMessage(error);
  const code = errorCode(error);
  const advice =
    ADVICE.find(([said]) => said.test(message))?.[1] ??
    (NOT_TRUSTED.has(code) ? OWN_CA : ADVICE_BY_CODE.get(code));
  return advice && `the database cannot be used: ${message}; ${advice}`;
}
