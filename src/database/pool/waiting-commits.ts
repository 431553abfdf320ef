import type { Client, ClientConfig } from 'pg';

const WAITING_COMMITS = `
  SELECT pg_cancel_backend(pid) FROM pg_stat_activity
  WHERE wait_event = 'SyncRep' AND query_start < clock_timestamp() - $1 * interval '1 ms'
    AND usename = session_user AND application_name = current_setting('application_name')`;

let isBusy = false;

/**
 * Cancels commits of the service that wait for a standby for longer than `waitedMs`; never rejects. Neither
 * `statement_timeout` nor the end of the connection ends them, and each holds a connection of the server until the standby is back.
 */
export async function cancelWaitingCommits(
  Base: typeof Client,
  config: ClientConfig,
  waitedMs: number,
): Promise<void> {
  if (isBusy) return;
  isBusy = true;
  const ignore = (): void => undefined; // the next time-out tries again
  const client = new Base({ ...config, query_timeout: waitedMs, connectionTimeoutMillis: waitedMs });
  client.on('error', ignore);
  await client
    .connect()
    .then(() => client.query(WAITING_COMMITS, [waitedMs]))
    .catch(ignore);
  client.end().catch(ignore);
  isBusy = false;
}
