import pg from 'pg';
import { cancelRequest } from './cancel-request.js';
import { CommitUnconfirmed, isUnconfirmed } from './commit-unconfirmed.js';
import type { EndSpan } from '../spans.js';
import { errorCode } from './error-facts.js';
import { StatementGivenUp } from './statement-given-up.js';
import { beginStatement } from './statement-span.js';

/**
 * How long a connection takes to end, with the statement that was given up on it. A server that lives answers at once; one
 * that is frozen or lost never does, and a pool that waited for it longer would still be empty when another has taken its place.
 */
const LONGEST_FAREWELL_MS = 5000;

const DISK_FULL = '53100';

/** What pg makes of a client's settings, its URL's among them. */
interface Parameters {
  query_timeout?: number | string | false;
}

/** A statement of pg's queue. */
interface Unsent {
  handleError(error: Error, connection: pg.Connection): void;
}

type Callback = (error: unknown, result?: unknown) => unknown;

/**
 * A client of pg that is as `Base`, with three differences.
 *
 * A statement that takes longer than `query_timeout` is cancelled on the server: pg alone closes the socket, and the server
 * goes on (a commit that waits for a standby notices nothing of it). The connection is not used again, since a cancel that is
 * late would hit the next statement; it closes when the server has answered, at most LONGEST_FAREWELL_MS later.
 *
 * What has its callback within (pg's Query, a cursor, a stream) has the server's `statement_timeout` alone.
 *
 * A commit whose wait for the standby was cancelled, by whomever, fails (CommitUnconfirmed).
 *
 * Emits `leaving` when it is told to end, and `disk full` when the server has no room for a statement.
 */
export function cancelling(Base: typeof pg.Client): typeof pg.Client {
  return class CancellingClient extends Base {
    /** While set: the server has said so of the statement under way. */
    private unconfirmed = false;
    /** Since a statement was given up: resolves when the server has ended it, or the connection is closed. */
    private farewell: Promise<unknown> | undefined;
    /** Milliseconds for a statement; 0: no limit. */
    private readonly limit: number;

    constructor(config?: string | pg.ClientConfig) {
      super(config);
      const { connectionParameters } = this as unknown as { connectionParameters: Parameters };
      this.limit = Number(connectionParameters.query_timeout || 0);
      connectionParameters.query_timeout = 0; // pg's own timer does not read first what has arrived
      this.on('notice', (notice) => {
        if (isUnconfirmed(notice)) this.unconfirmed = true;
      });
    }

    // pg's nine signatures: (text or config, values?, callback?).
    override query(...call: never[]): never {
      // oxlint-disable-next-line typescript/unbound-method -- it is called on `this`
      const send = super.query as (...call: unknown[]) => unknown;
      const callback: unknown = call.at(-1);
      const endSpan = beginStatement(call[0]);
      if (typeof callback !== 'function') {
        const answer = send.apply(this, call);
        return (answer instanceof Promise ? this.judgeLater(answer, endSpan) : answer) as never;
      }
      let isOver = false;
      const judged: Callback = (error, result) => {
        if (isOver) return undefined;
        isOver = true;
        endLimit();
        const fault = this.judge(error);
        endSpan?.(fault);
        return (callback as Callback)(fault, fault ? undefined : result);
      };
      const endLimit = this.startLimit(judged);
      try {
        return send.call(this, call[0], call.length > 2 ? call[1] : undefined, judged) as never;
      } catch (error) {
        endLimit(); // it never was a statement
        endSpan?.(error);
        throw error;
      }
    }

    override end(): Promise<void>;
    override end(callback: (error: Error) => void): void;
    override end(callback?: (error: Error) => void): Promise<void> | void {
      this.emit('leaving');
      const tooLate = setTimeout(() => void this.connection.stream.destroy(), LONGEST_FAREWELL_MS).unref();
      this.connection.once('end', () => clearTimeout(tooLate));
      const end = callback ? () => super.end(callback) : () => super.end();
      return this.farewell ? this.farewell.then(end) : end();
    }

    private async judgeLater(answer: Promise<unknown>, endSpan?: EndSpan): Promise<unknown> {
      let error: unknown;
      const inTime = new Promise((resolve, reject) => {
        const endLimit = this.startLimit(reject);
        answer.then(resolve, reject).finally(endLimit);
      });
      const result = await inTime.catch((thrown: unknown) => void (error = thrown));
      const fault = this.judge(error);
      endSpan?.(fault);
      if (fault) throw fault;
      return result;
    }

    /**
     * After a busy turn of the event loop the answer may be in the socket: it is read before `setImmediate`.
     *
     * @returns ends it
     */
    private startLimit(giveUp: (error: Error) => unknown): () => void {
      if (this.limit === 0) return () => undefined;
      let reading: NodeJS.Immediate | undefined;
      const timer = setTimeout(() => {
        reading = setImmediate(() => giveUp(new StatementGivenUp()));
      }, this.limit);
      return () => {
        clearTimeout(timer);
        clearImmediate(reading);
      };
    }

    /** @returns what the statement has failed with, if it has */
    private judge(error: unknown): unknown {
      const { unconfirmed } = this;
      this.unconfirmed = false;
      if (!error) return unconfirmed ? new CommitUnconfirmed() : undefined;
      if (error instanceof StatementGivenUp) this.giveUp();
      if (errorCode(error) === DISK_FULL) this.emit('disk full');
      return error;
    }

    private giveUp(): void {
      if (this.farewell) return;
      // From here on pg refuses statements (a ROLLBACK would wait behind the one under way), and the pool does not take it back.
      Object.assign(this, { _ending: true });
      const { connection } = this;
      const answered = new Promise((resolve) => void connection.once('readyForQuery', resolve));
      const closed = new Promise((resolve) => void connection.once('end', resolve));
      const cancelled = cancelRequest(this, LONGEST_FAREWELL_MS);
      this.farewell = Promise.race([Promise.all([cancelled, answered]), closed]);
      // What waits behind it would be sent as soon as the server has ended it.
      const { _queryQueue: unsent } = this as unknown as { _queryQueue: Unsent[] };
      for (const one of unsent.splice(0)) {
        process.nextTick(() => one.handleError(new StatementGivenUp(), connection));
      }
    }
  };
}
