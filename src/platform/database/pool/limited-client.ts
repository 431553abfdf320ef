import type { Client, ClientConfig } from 'pg';
import { type EndSpan, beginStatement } from '../../spans.js';
import { errorCode } from '../../errors/error-facts.js';

const CANCELED = '57014'; // query_canceled, for platform/errors/database-error.ts
const DISK_FULL = '53100';

/** The outcome of the statement is unknown: it timed out, or its commit did not wait for the standby. */
class StatementCanceled extends Error {
  override readonly name = 'StatementCanceled';
  readonly code = CANCELED;
}

/** Known by function, since messages are translated; a distributed database forwards under another one. */
interface Notice {
  readonly routine?: string | undefined;
  readonly message?: string | undefined;
}

type Callback = (error: unknown, result?: unknown) => void;

/**
 * Adds a time-out (`query_timeout`) to pg's client: it closes the connection, and the server ends the
 * statement (`statement_timeout`, cancelWaitingCommits). A commit that did not wait for the standby fails:
 * for PostgreSQL it is a success with a warning, but one server may lose it. Emits `disk full` for that error
 * of the server. Not for pg's Query, cursors and streams.
 */
export function limited(Base: typeof Client): typeof Client {
  return class LimitedClient extends Base {
    private unconfirmed = false; // notice of the current statement

    constructor(private readonly config: ClientConfig = {}) {
      super({ ...config, query_timeout: 0 }); // pg's own time-out keeps the connection
      this.on('notice', (notice) => (this.unconfirmed ||= isUnconfirmed(notice)));
    }

    // pg's nine signatures: (text or config, values?, callback?).
    override query(...[query, ...rest]: unknown[]): never {
      const last = rest.pop();
      if (typeof last === 'function') return this.send(query, rest[0], last as Callback) as never;
      const settled = (resolve: (rows: unknown) => void, reject: (error: unknown) => void): void =>
        void this.send(query, last, (error, rows) => (error ? reject(error) : resolve(rows)));
      return new Promise(settled) as never;
    }

    private send(query: unknown, values: unknown, callback: Callback): unknown {
      const { query_timeout: limit = 0 } = this.config;
      let isOver = false;
      let timer: NodeJS.Timeout | undefined;
      let endSpan: EndSpan | undefined;
      const settle: Callback = (error, result) => {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        const isLost = !error && this.unconfirmed;
        const failure = isLost ? new StatementCanceled('the commit is not known to be on a standby') : error;
        this.unconfirmed = false;
        if (failure && errorCode(failure) === DISK_FULL) this.emit('disk full');
        endSpan?.(failure);
        callback(failure, failure ? undefined : result);
      };
      const onTimeout = (): void => {
        if (isOver) return;
        void this.end(); // closes the socket at once, because a statement is running
        void cancelWaitingCommits(Base, this.config, 0.9 * limit);
        settle(new StatementCanceled('Query read timeout')); // pg's words
      };
      const returned = (super.query as (...call: unknown[]) => unknown).call(this, query, values, settle);
      endSpan = beginStatement(query);
      // An answer that has arrived during a busy turn of the event loop is read before `setImmediate`.
      if (limit > 0) timer = setTimeout(() => setImmediate(onTimeout), limit);
      return returned;
    }
  };
}

function isUnconfirmed({ routine, message = '' }: Notice): boolean {
  return routine === 'SyncRepWaitForLSN' || /^canceling (the )?wait for synchronous/.test(message);
}

const WAITING_COMMITS = `
  SELECT pg_cancel_backend(pid) FROM pg_stat_activity
  WHERE wait_event = 'SyncRep' AND query_start < clock_timestamp() - $1 * interval '1 ms'
    AND usename = session_user AND application_name = current_setting('application_name')`;

let isCanceling = false;

/**
 * Cancels commits that wait for a standby for longer than `waitedMs`; never rejects. Neither
 * `statement_timeout` nor the end of the connection ends them, and each holds a connection of the server.
 */
async function cancelWaitingCommits(Base: typeof Client, config: ClientConfig, waitedMs: number) {
  if (isCanceling) return;
  isCanceling = true;
  const ignore = (): void => undefined; // the next time-out tries again
  const client = new Base({ ...config, query_timeout: waitedMs, connectionTimeoutMillis: waitedMs });
  client.on('error', ignore);
  await client
    .connect()
    .then(() => client.query(WAITING_COMMITS, [waitedMs])) // raw: outside of the pool, which may be full
    .catch(ignore);
  client.end().catch(ignore);
  isCanceling = false;
}
