import { Injectable, Logger } from '@nestjs/common';
import { OAuthError } from '../errors/oauth-error.js';
import { networkOf } from '../http/network.js';
import { NetworkCounts } from './network-counts.js';
import { Queue } from './queue.js';

/** Begun in one turn of the event loop, at 0.1 to 0.2 ms each: what a request waits that comes in meanwhile. */
const BEGUN_A_TURN = 8;
/**
 * Node.js accepts one connection a turn, whoever it is of, and the kernel drops what waits too long. So while handshakes come
 * in, turns are kept short, and begin one in this time. Of 1, 3 and 5 ms, 3 kept refreshes waiting least.
 */
const BEGIN_EVERY_MS = 3;
/** Tokens that are judged at once; while the database is slow, no more handshakes are begun. */
const MOST_JUDGED = 128;
/** Handshakes that may wait before they have a transport: of one address (an IPv6 /64), and of all; about 8 KiB each. */
const MOST_OF_A_NETWORK = 500;
const MOST = 20_000;
/** Half of what a stock client waits. */
const LONGEST_WAIT_MS = 10_000;
const RETRY_AFTER_S = 5;
const WARN_EVERY_MS = 60_000;

interface Handshake {
  readonly since: number;
  readonly network: string;
  readonly begin: () => void;
  readonly refuse: (error: OAuthError) => void;
}

/**
 * Lets handshakes go on a few at a time, in the order in which they came, so that 20,000 sockets that come back at once do
 * not keep other requests waiting. Each passes twice: before it has a transport, which anybody may ask for, and before its
 * token is judged. The latter go first: an open transport costs more than a handshake that waits for one.
 */
@Injectable()
export class AdmissionQueue {
  private readonly logger = new Logger(AdmissionQueue.name);
  private readonly handshakes = new Queue<Handshake>();
  private readonly ofNetwork = new NetworkCounts();
  /** One of a transport at most, so about as many as there are transports that wait (waiting-room.ts). */
  private readonly tokens = new Queue<() => void>();
  private begun = 0;
  private begunAt = -Infinity;
  /** Whether a handshake has come in since the last turn. */
  private arrived = false;
  private judged = 0;
  private scheduled = false;
  private stopping = false;
  private warnedAt = -Infinity;

  /** Handshakes that wait for a transport. */
  get size(): number {
    return this.handshakes.size;
  }

  /**
   * Resolves when a transport may be made: at once, while there are few.
   * @throws OAuthError `slow_down` where too many wait, or when this one has waited too long
   */
  async transport(address: string | undefined): Promise<void> {
    if (this.stopping) throw isStopping();
    this.arrived = true;
    this.schedule();
    const isNext = this.tokens.size === 0 && this.handshakes.size === 0;
    if (isNext && this.mayBegin()) return this.begin(() => undefined);
    const network = networkOf(address);
    if (this.handshakes.size >= MOST || this.ofNetwork.of(network) >= MOST_OF_A_NETWORK) throw this.refusal();
    this.ofNetwork.add(network);
    await new Promise<void>((begin, refuse) =>
      this.handshakes.add({ since: performance.now(), network, begin, refuse }),
    ).finally(() => this.ofNetwork.delete(network));
  }

  /** Judges a token when its turn has come: at once, while there are few. */
  async token<Judgement>(judge: () => Promise<Judgement>): Promise<Judgement> {
    if (this.tokens.size === 0 && this.mayBegin()) this.begin(() => this.judged++);
    else {
      this.schedule();
      await new Promise<void>((begin) => this.tokens.add(() => begin(void this.judged++)));
    }
    try {
      return await judge();
    } finally {
      this.judged--;
      this.schedule();
    }
  }

  /** Refuses those that wait, and all that come. */
  stop(): void {
    this.stopping = true;
    for (let one = this.handshakes.take(); one; one = this.handshakes.take()) one.refuse(isStopping());
  }

  private mayBegin(): boolean {
    if (this.judged >= MOST_JUDGED) return false;
    if (this.arrived) return performance.now() - this.begunAt >= BEGIN_EVERY_MS;
    return this.begun < BEGUN_A_TURN;
  }

  private begin(waiting: () => void): void {
    this.begun++;
    this.begunAt = performance.now();
    this.schedule(); // so that it is counted anew
    waiting();
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => this.turn());
  }

  private turn(): void {
    this.scheduled = false;
    this.begun = 0;
    while (this.tokens.size > 0 && this.mayBegin()) this.begin(this.tokens.take()!);
    const late = performance.now() - LONGEST_WAIT_MS;
    while ((this.handshakes.first?.since ?? Infinity) < late) this.handshakes.take()!.refuse(this.refusal());
    while (this.handshakes.size > 0 && this.mayBegin()) this.begin(this.handshakes.take()!.begin);
    this.arrived = false;
    if (this.tokens.size + this.handshakes.size > 0 && this.judged < MOST_JUDGED) this.schedule(); // else after a judgement
  }

  private refusal(): OAuthError {
    const now = performance.now();
    if (now - this.warnedAt >= WARN_EVERY_MS) {
      this.warnedAt = now;
      this.logger.warn('handshakes of sockets are refused: too many wait for their turn');
    }
    return new OAuthError('slow_down', 'too many connections wait to be admitted', {
      headers: { 'Retry-After': String(RETRY_AFTER_S) },
    });
  }
}

function isStopping(): OAuthError {
  return new OAuthError('server_error', 'the service is stopping', { headers: { 'Retry-After': '1' } });
}
