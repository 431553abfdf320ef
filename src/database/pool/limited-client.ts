import type { Client, ClientConfig } from 'pg';
import type { EndSpan } from '../../spans.js';
import { errorCode } from '../statements/error-facts.js';
import { CommitUnconfirmed, isUnconfirmed, StatementGivenUp } from '../statements/statement-errors.js';
import { beginStatement } from '../statements/statement-span.js';
import { cancelWaitingCommits } from './waiting-commits.js';

const DISK_FULL = '53100';
type Callback = (error: unknown, result?: unknown) => void;

/**
 * pg's client with a limit of time for statements (`query_timeout`): afterwards it closes the connection, and the server ends what
 * still runs (`statement_timeout`, waiting-commits.ts). A commit without its wait for the standby fails (CommitUnconfirmed). Emits
 * `disk full` if the server has no room for a statement. Not for pg's Query, cursors and streams.
 */
export function limited(Base: typeof Client): typeof Client {
  return class LimitedClient extends Base {
    private unconfirmed = false; // the server has said so of the statement under way

    constructor(private readonly config: ClientConfig = {}) {
      super({ ...config, query_timeout: 0 }); // pg's own timer keeps the connection
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
        const fault = error || (this.unconfirmed ? new CommitUnconfirmed() : undefined);
        this.unconfirmed = false;
        if (errorCode(fault) === DISK_FULL) this.emit('disk full');
        endSpan?.(fault);
        callback(fault, fault ? undefined : result);
      };
      const giveUp = (): void => {
        if (isOver) return;
        void this.end(); // closes the socket at once, since a statement is under way
        void cancelWaitingCommits(Base, this.config, 0.9 * limit);
        settle(new StatementGivenUp());
      };
      const returned = (super.query as (...call: unknown[]) => never).call(this, query, rest[0], settle);
      endSpan = beginStatement(query);
      // What has arrived is read before `setImmediate`, also after a busy turn of the event loop.
      if (limit > 0) timer = setTimeout(() => setImmediate(giveUp), limit);
      return returned;
    }
  };
}
