import { Injectable, Logger } from '@nestjs/common';
import { OAuthError } from '../errors/oauth-error.js';
import { networkOf } from '../http/network.js';
import { NetworkCounts } from './network-counts.js';
import { closeNow, type Transport } from './transport.js';

/** A transport that has shown no good token after this time is closed. */
const LONGEST_WAIT_MS = 10_000;
/** Transports that may wait at once: of one address (an IPv6 /64), and of all; about 35 KiB each. */
const MOST_OF_A_NETWORK = 500;
const MOST = 5000;
const RETRY_AFTER_S = 5;
const WARN_EVERY_MS = 60_000;

interface Guest {
  readonly address: string | undefined;
  readonly network: string;
  readonly end: NodeJS.Timeout;
  /** Whether it has shown a token. */
  hasAsked: boolean;
}

/** Transports that are open and not admitted yet. Anybody can make one, so few may wait, and not for long. */
@Injectable()
export class WaitingRoom {
  private readonly logger = new Logger(WaitingRoom.name);
  private readonly guests = new Map<Transport, Guest>();
  private readonly ofNetwork = new NetworkCounts();
  private warnedAt = -Infinity;

  get size(): number {
    return this.guests.size;
  }

  /** @throws OAuthError `slow_down` where no more transports of this address may wait */
  assertRoomFor(address: string | undefined): void {
    if (this.guests.size < MOST && this.ofNetwork.of(networkOf(address)) < MOST_OF_A_NETWORK) return;
    this.warn();
    throw new OAuthError('slow_down', 'too many connections wait to be admitted', {
      headers: { 'Retry-After': String(RETRY_AFTER_S) },
    });
  }

  /** Lets a new transport wait. Handshakes that were judged at the same moment may be more than there is room for. */
  enter(transport: Transport, address: string | undefined): void {
    const network = networkOf(address);
    const end = setTimeout(() => closeNow(transport), LONGEST_WAIT_MS).unref();
    this.guests.set(transport, { address, network, end, hasAsked: false });
    const count = this.ofNetwork.add(network);
    transport.once('close', () => this.leave(transport));
    if (count > MOST_OF_A_NETWORK || this.guests.size > MOST) closeNow(transport);
  }

  /**
   * Called when a transport shows a token. It may show one: of more, each would wait to be judged.
   * @returns the address that it came from
   * @throws OAuthError `invalid_request` for a further token, and for a transport that does not wait
   */
  beginAdmission(transport: Transport): string | undefined {
    const guest = this.guests.get(transport);
    if (!guest || guest.hasAsked) throw new OAuthError('invalid_request', 'a connection shows one token');
    guest.hasAsked = true;
    return guest.address;
  }

  /** Removes a transport that was admitted, or is gone. */
  leave(transport: Transport): void {
    const guest = this.guests.get(transport);
    if (!guest) return;
    const { network, end } = guest;
    clearTimeout(end);
    this.guests.delete(transport);
    this.ofNetwork.delete(network);
  }

  private warn(): void {
    const now = performance.now();
    if (now - this.warnedAt < WARN_EVERY_MS) return;
    this.warnedAt = now;
    this.logger.warn('handshakes of sockets are refused: too many connections wait to be admitted');
  }
}
