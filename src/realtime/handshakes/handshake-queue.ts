import { Injectable, Logger } from '@nestjs/common';
import type { Socket } from 'socket.io';
import { ConcurrencyLimit } from '../../platform/database/limits.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { Events } from '../../platform/events.js';
import { networkOf } from '../../platform/http/network.js';
import { UUID } from '../../platform/http/parameters/uuid.js';
import { RateLimits } from '../../platform/http/rate-limit.js';
import { OpenFiles } from './open-files.js';
import type { VerifiedToken } from '../../token/access-tokens/access-token.verifier.js';
import { JwtGuard } from '../../token/guard/jwt.guard.js';
import { closeNow, toTransport, type Transport } from '../socket/transport.js';

/** Handshakes that begin in one tick of the event loop; requests wait for the tick. */
const BEGUN_A_TICK = 8;
/**
 * Interval while further handshakes arrive: Node.js accepts one connection a tick, of any client, so ticks
 * are short.
 */
const BEGIN_EVERY_MS = 3;
/** Tokens that are verified concurrently. While the database is slow, no more handshakes begin. */
const MOST_VERIFIED = 128;
/** Of an address (an IPv6 /64): queued handshakes, and transports without a token. */
const MOST_OF_A_NETWORK = 500;
const MOST_HANDSHAKES = 20_000;
const MOST_TRANSPORTS = 5000;
/** For a handshake in the queue, and for a transport to be admitted. Stock clients wait for 20 s. */
const LONGEST_WAIT_MS = 10_000;
const RETRY_AFTER_S = 5;
const WARN_EVERY_MS = 60_000;

/** Result of a successful handshake. */
export interface Admitted extends VerifiedToken {
  /** Where delivery resumes; undefined: it begins with new events. */
  readonly from: ResumePoint | undefined;
}

interface ResumePoint {
  readonly offset: number;
  readonly id: string | undefined;
}

interface Waiting {
  readonly since: number;
  readonly begin: () => void;
  readonly refuse: (error: OAuthError) => void;
}

interface Guest {
  readonly address: string | undefined;
  readonly timeout: NodeJS.Timeout;
  hasShownToken: boolean;
}

/**
 * Admits sockets in two steps: `begin` before Engine.IO makes a transport, `admit` when the client sends its
 * token. Handshakes are queued, so that thousands of sockets that reconnect at once do not delay other
 * requests.
 */
@Injectable()
export class HandshakeQueue {
  private readonly logger = new Logger(HandshakeQueue.name);
  private readonly handshakes = new Set<Waiting>();
  private readonly handshakesByNetwork = new Map<string, number>();
  /** Open transports that are not admitted yet. */
  private readonly guests = new Map<Transport, Guest>();
  private readonly guestsByNetwork = new Map<string, number>();
  private readonly verifications = new ConcurrencyLimit(MOST_VERIFIED);
  private begun = 0;
  private begunAt = -Infinity;
  /** Whether a handshake has arrived since the last tick. */
  private arrived = false;
  private scheduled = false;
  private stopping = false;
  private warnedAt = -Infinity;

  constructor(
    private readonly guard: JwtGuard,
    private readonly limits: RateLimits,
    private readonly files: OpenFiles,
    events: Events,
  ) {
    events.on('state.requested', (report) =>
      report({ transportsWaiting: this.guests.size, handshakesWaiting: this.handshakes.size }),
    );
  }

  /** @throws OAuthError `slow_down`, or `server_error` while the service stops */
  async begin(address: string | undefined): Promise<void> {
    this.assertRoomFor(address);
    await this.files.assertRoomForSocket();
    await this.limits.count('connect', address);
    await this.waitForSlot(address);
    this.assertRoomFor(address); // other transports were opened in the meantime
  }

  /** Registers a new transport. Closes it if concurrent handshakes have exceeded the limits. */
  enter(transport: Transport, address: string | undefined): void {
    const timeout = setTimeout(() => closeNow(transport), LONGEST_WAIT_MS).unref();
    this.guests.set(transport, { address, timeout, hasShownToken: false });
    const ofNetwork = count(this.guestsByNetwork, networkOf(address), 1);
    transport.once('close', () => this.leave(transport));
    if (ofNetwork > MOST_OF_A_NETWORK || this.guests.size > MOST_TRANSPORTS) closeNow(transport);
  }

  /**
   * @throws OAuthError `invalid_token`, `slow_down`, or `invalid_request`, also for a second token over one
   *   transport
   */
  async admit({ handshake, conn }: Pick<Socket, 'handshake' | 'conn'>): Promise<Admitted> {
    const guest = this.guests.get(toTransport({ conn } as Socket));
    if (!guest || guest.hasShownToken) {
      throw new OAuthError('invalid_request', 'a connection may send one token');
    }
    guest.hasShownToken = true;
    const from = readResumePoint(handshake.auth);
    try {
      const verified = await this.verifications.run(() =>
        this.guard.admitHandshake(handshake, guest.address),
      );
      return { ...verified, from };
    } finally {
      this.schedule();
    }
  }

  leave(transport: Transport): void {
    const guest = this.guests.get(transport);
    if (!guest) return;
    clearTimeout(guest.timeout);
    this.guests.delete(transport);
    count(this.guestsByNetwork, networkOf(guest.address), -1);
  }

  stop(): void {
    this.stopping = true;
    for (const { refuse } of this.handshakes) refuse(isStopping());
    this.handshakes.clear();
  }

  private assertRoomFor(address: string | undefined): void {
    const ofNetwork = this.guestsByNetwork.get(networkOf(address)) ?? 0;
    if (this.guests.size >= MOST_TRANSPORTS || ofNetwork >= MOST_OF_A_NETWORK) throw this.slowDown();
  }

  private async waitForSlot(address: string | undefined): Promise<void> {
    if (this.stopping) throw isStopping();
    this.arrived = true;
    this.schedule();
    const network = networkOf(address);
    const ofNetwork = this.handshakesByNetwork.get(network) ?? 0;
    if (this.handshakes.size >= MOST_HANDSHAKES || ofNetwork >= MOST_OF_A_NETWORK) throw this.slowDown();
    count(this.handshakesByNetwork, network, 1);
    await new Promise<void>((begin, refuse) =>
      this.handshakes.add({ since: performance.now(), begin, refuse }),
    ).finally(() => count(this.handshakesByNetwork, network, -1));
  }

  private mayBegin(): boolean {
    if (this.verifications.isReached) return false;
    if (this.arrived) return performance.now() - this.begunAt >= BEGIN_EVERY_MS;
    return this.begun < BEGUN_A_TICK;
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => this.onTick());
  }

  private onTick(): void {
    this.scheduled = false;
    this.begun = 0;
    const late = performance.now() - LONGEST_WAIT_MS;
    for (const handshake of this.handshakes) {
      const isLate = handshake.since < late;
      if (!isLate && !this.mayBegin()) break;
      this.handshakes.delete(handshake);
      if (isLate) {
        handshake.refuse(this.slowDown());
      } else {
        this.begun++;
        this.begunAt = performance.now();
        handshake.begin();
      }
    }
    this.arrived = false;
    // else after a verification
    if (this.handshakes.size > 0 && !this.verifications.isReached) this.schedule();
  }

  private slowDown(): OAuthError {
    const now = performance.now();
    if (now - this.warnedAt >= WARN_EVERY_MS) {
      this.warnedAt = now;
      this.logger.warn('Socket handshakes are refused: too many wait to be admitted');
    }
    return new OAuthError('slow_down', 'too many connections wait to be admitted', {
      headers: { 'Retry-After': String(RETRY_AFTER_S) },
    });
  }
}

/** Changes a count, and removes it at 0. @returns the new count */
function count(counts: Map<string, number>, network: string, change: 1 | -1): number {
  const now = (counts.get(network) ?? 0) + change;
  if (now > 0) counts.set(network, now);
  else counts.delete(network);
  return now;
}

function isStopping(): OAuthError {
  return new OAuthError('server_error', 'the service is stopping', { headers: { 'Retry-After': '1' } });
}

/** `id` without `offset` is ignored (docs/realtime.md#the-handshake). */
function readResumePoint({ offset, id }: Readonly<Record<string, unknown>>): ResumePoint | undefined {
  if (offset === undefined || offset === null) return undefined;
  if (!Number.isSafeInteger(offset) || (offset as number) < 0) {
    throw new OAuthError('invalid_request', 'offset must be a whole number that is not negative');
  }
  if (id === undefined || id === null) return { offset: offset as number, id: undefined };
  if (typeof id === 'string' && UUID.test(id)) return { offset: offset as number, id: id.toLowerCase() };
  throw new OAuthError('invalid_request', 'id must be the UUID of an event');
}
