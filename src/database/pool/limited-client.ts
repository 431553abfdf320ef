import type { Client, ClientConfig } from 'pg';
import type { EndSpan } from '../../spans.js';
import { errorCode } from '../statements/error-facts.js';
import { CommitUnconfirmed, isUnconfirmed, StatementTimedOut } from '../statements/statement-errors.js';
import { beginStatement } from '../statements/statement-span.js';
import { cancelWaitingCommits } from './waiting-commits.js';

const DISK_FULL = '53100';
type Callback = (error: unknown, result?: unknown) => void;

/**
 * Adds a time-out (`query_timeout`) to pg's client: it closes the connection, and the server ends the statement
 * (`statement_timeout`, waiting-commits.ts). A commit that did not wait for the standby fails (CommitUnconfirmed). Emits
 * `disk full` for that error of the server. Not for pg's Query, cursors and streams.
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
      const callback = rest.pop();
      if (typeof callback !== 'function') {
        return new Promise((resolve, reject) => {
          this.query(query, callback, (error: unknown, rows: unknown) =>
            error ? reject(error) : resolve(rows),
          );
        }) as never;
      }
      const { query_timeout: limit = 0 } = this.config;
      let isOver = false;
      let timer: NodeJS.Timeout | undefined;
      let endSpan: EndSpan | undefined;
      const settle: Callback = (error, result) => {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        const failure = error || (this.unconfirmed ? new CommitUnconfirmed() : undefined);
        this.unconfirmed = false;
        if (errorCode(failure) === DISK_FULL) this.emit('disk full');
        endSpan?.(failure);
        callback(failure, failure ? undefined : result);
      };
      const onTimeout = (): void => {
        if (isOver) return;
        void this.end(); // closes the socket at once, because a statement is running
        void cancelWaitingCommits(Base, this.config, 0.9 * limit);
        settle(new StatementTimedOut());
      };
      const returned = (super.query as (...call: unknown[]) => never).call(this, query, rest[0], settle);
      endSpan = beginStatement(query);
      // An answer that has arrived during a busy turn of the event loop is read before `setImmediate`.
      if (limit > 0) timer = setTimeout(() => setImmediate(onTimeout), limit);
      return returned;
    }
  };
}
