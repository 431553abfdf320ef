/**
 * Completes the URL of the embedded database, so that pg takes nothing from the environment: `PGSSLMODE`, `PGOPTIONS` and the
 * like of a shell are for other servers.
 */
export function withoutEnvironment(url: string): string {
  const complete = new URL(url);
  complete.searchParams.set('sslmode', 'disable');
  complete.searchParams.set('sslnegotiation', 'postgres');
  complete.searchParams.set('options', '-c search_path=public'); // any value replaces PGOPTIONS
  complete.searchParams.set('replication', 'false');
  return complete.href;
}
