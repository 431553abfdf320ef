import { Injectable, Logger } from '@nestjs/common';
import { OAuthError } from '../../errors/oauth-error.js';
import { networkOf } from '../../http/network.js';
import { closeNow, type Transport } from '../socket/transport.js';

/** Begun in one turn of the event loop, at 0.1 to 0.2 ms each: what a request waits that comes in meanwhile. */
const BEGUN_A_TURN = 8;
/**
 * Node.js accepts one connection a turn, of any client, and the kernel drops what waits too long. So while handshakes come in,
 * turns are kept short, and begin one in this time. Of 1, 3 and 5 ms, 3 kept refreshes waiting least.
 */
const BEGIN_EVERY_MS = 3;
/** Tokens that are checked at once; while the database is slow, no more handshakes are begun. */
const MOST_CHECKED = 128;
/** Of one address (an IPv6 /64): handshakes that may wait for a transport, and transports without a good token. */
const MOST_OF_A_NETWORK = 500;
/** Of all addresses: about 8 KiB each, and 35 KiB each. */
const MOST_HANDSHAKES = 20_000;
const MOST_TRANSPORTS = 5000;
/** Of a handshake, and then of its transport. A stock client waits twice as long. */
const LONGEST_WAIT_MS = 10_000;
const RETRY_AFTER_S = 5;
const WARN_EVERY_MS = 60_000;

interface Waiting {
  readonly since: number;
  readonly begin: () => void;
  readonly refuse: (error: OAuthError) => void;
}

interface Guest {
  readonly address: string | undefined;
  readonly end: NodeJS.Timeout;
  /** Whether it has shown a token. */
  hasAsked: boolean;
}

/**
 * Admits handshakes a few at a time, in the order in which they came, so that 20,000 sockets that come back at once do not keep
 * other requests waiting. Each passes twice: before it has a transport, which any client may ask for, and before its token is
 * checked. Tokens go first: an open transport costs more than a handshake that waits for one.
 */
@Injectable()
export class Admission {
  private readonly logger = new Logger(Admission.name);
  /** In their order, as sets keep it. */
  private readonly handshakes = new Set<Waiting>();
  private readonly tokens = new Set<() => void>();
  /** Transports that are open and not admitted. */
  private readonly guests = new Map<Transport, Guest>();
  private readonly handshakesOf = new Map<string, number>();
  private readonly guestsOf = new Map<string, number>();
  private begun = 0;
  private begunAt = -Infinity;
  /** Whether a handshake has come in since the last turn. */
  private arrived = false;
  private checked = 0;
  private scheduled = false;
  private stopping = false;
  private warnedAt = -Infinity;

  get handshakesWaiting(): number {
    return this.handshakes.size;
  }

  get transportsWaiting(): number {
    return this.guests.size;
  }

  /** @throws OAuthError `slow_down` if no more transports of this address may wait */
  assertRoomFor(address: string | undefined): void {
    const ofNetwork = this.guestsOf.get(networkOf(address)) ?? 0;
    if (this.guests.size >= MOST_TRANSPORTS || ofNetwork >= MOST_OF_A_NETWORK) throw this.refusal();
  }

  /**
   * Resolves when a transport may be made: at once, while there are few.
   * @throws OAuthError `slow_down` if too many wait, or this one has waited too long; `server_error` while the service stops
   */
  async transport(address: string | undefined): Promise<void> {
    if (this.stopping) throw isStopping();
    this.arrived = true;
    this.schedule();
    if (this.tokens.size + this.handshakes.size === 0 && this.mayBegin()) return this.begin(() => undefined);
    const network = networkOf(address);
    const ofNetwork = this.handshakesOf.get(network) ?? 0;
    if (this.handshakes.size >= MOST_HANDSHAKES || ofNetwork >= MOST_OF_A_NETWORK) throw this.refusal();
    count(this.handshakesOf, network, 1);
    await new Promise<void>((begin, refuse) =>
      this.handshakes.add({ since: performance.now(), begin, refuse }),
    ).finally(() => count(this.handshakesOf, network, -1));
  }

  /** Lets a new transport wait. Handshakes that were begun in the same turn may be more than there is room for. */
  enter(transport: Transport, address: string | undefined): void {
    const end = setTimeout(() => closeNow(transport), LONGEST_WAIT_MS).unref();
    this.guests.set(transport, { address, end, hasAsked: false });
    const ofNetwork = count(this.guestsOf, networkOf(address), 1);
    transport.once('close', () => this.leave(transport));
    if (ofNetwork > MOST_OF_A_NETWORK || this.guests.size > MOST_TRANSPORTS) closeNow(transport);
  }

  /**
   * Called when a transport shows a token. It may show one: of more, each would wait to be checked.
   * @returns the address that it came from
   * @throws OAuthError `invalid_request` for a further token, and for a transport that does not wait
   */
  beginAdmission(transport: Transport): string | undefined {
    const guest = this.guests.get(transport);
    if (!guest || guest.hasAsked) throw new OAuthError('invalid_request', 'a connection shows one token');
    guest.hasAsked = true;
    return guest.address;
  }

  /** Checks a token when its turn has come: at once, while there are few. */
  async token<Result>(check: () => Promise<Result>): Promise<Result> {
    if (this.tokens.size === 0 && this.mayBegin()) this.begin(() => this.checked++);
    else {
      this.schedule();
      await new Promise<void>((begin) => this.tokens.add(() => begin(void this.checked++)));
    }
    try {
      return await check();
    } finally {
      this.checked--;
      this.schedule();
    }
  }

  /** Removes a transport that was admitted, or is gone. */
  leave(transport: Transport): void {
    const guest = this.guests.get(transport);
    if (!guest) return;
    clearTimeout(guest.end);
    this.guests.delete(transport);
    count(this.guestsOf, networkOf(guest.address), -1);
  }

  /** Refuses the handshakes that wait, and all that come. */
  stop(): void {
    this.stopping = true;
    for (const one of this.handshakes) one.refuse(isStopping());
    this.handshakes.clear();
  }

  private mayBegin(): boolean {
    if (this.checked >= MOST_CHECKED) return false;
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
    for (const begin of this.tokens) {
      if (!this.mayBegin()) break;
      this.tokens.delete(begin);
      this.begin(begin);
    }
    const late = performance.now() - LONGEST_WAIT_MS;
    for (const one of this.handshakes) {
      const isLate = one.since < late;
      if (!isLate && !this.mayBegin()) break;
      this.handshakes.delete(one);
      if (isLate) one.refuse(this.refusal());
      else this.begin(one.begin);
    }
    this.arrived = false;
    if (this.tokens.size + this.handshakes.size > 0 && this.checked < MOST_CHECKED) this.schedule(); // else after a check
  }

  private refusal(): OAuthError {
    const now = performance.now();
    if (now - this.warnedAt >= WARN_EVERY_MS) {
      this.warnedAt = now;
      this.logger.warn('handshakes of sockets are refused: too many wait to be admitted');
    }
    return new OAuthError('slow_down', 'too many connections wait to be admitted', {
      headers: { 'Retry-After': String(RETRY_AFTER_S) },
    });
  }
}

/** @returns how many there are now; a network without any takes no memory */
function count(counts: Map<string, number>, network: string, change: 1 | -1): number {
  const now = (counts.get(network) ?? 0) + change;
  if (now > 0) counts.set(network, now);
  else counts.delete(network);
  return now;
}

function isStopping(): OAuthError {
  return new OAuthError('server_error', 'the service is stopping', { headers: { 'Retry-After': '1' } });
}
