import type { Client, ClientConfig } from 'pg';

const WAITING_COMMITS = `
  SELECT pg_cancel_backend(pid) FROM pg_stat_activity
  WHERE wait_event = 'SyncRep' AND query_start < clock_timestamp() - $1 * interval '1 ms'
    AND usename = session_user AND application_name = current_setting('application_name')`;

/** Whether one is under way, which is enough. */
let isBusy = false;

/**
 * Cancels the commits of the service that wait for a standby for longer than `waitedMs`. `statement_timeout` does not end them, nor
 * does the end of their connection; without this each takes a connection of the server until the standby is back. Never rejects.
 */
export async function cancelWaitingCommits(
  Base: typeof Client,
  config: ClientConfig,
  waitedMs: number,
): Promise<void> {
  if (isBusy) return;
  isBusy = true;
  const ignore = (): void => undefined; // the next statement that is given up tries again
  const client = new Base({ ...config, query_timeout: waitedMs, connectionTimeoutMillis: waitedMs });
  client.on('error', ignore);
  await client
    .connect()
    .then(() => client.query(WAITING_COMMITS, [waitedMs]))
    .catch(ignore);
  client.end().catch(ignore);
  isBusy = false;
}
