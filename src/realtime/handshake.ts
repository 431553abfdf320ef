import { Injectable } from '@nestjs/common';
import type { Socket } from 'socket.io';
import { OAuthError } from '../errors/oauth-error.js';
import { RateLimits } from '../http/rate-limit.js';
import { UUID } from '../http/uuid.js';
import { AccessTokenVerifier, type VerifiedToken } from '../token/access-token.verifier.js';
import { WaitingRoom } from './waiting-room.js';

/** What a client that may connect has shown. */
export interface Admission extends VerifiedToken {
  /** Where it goes on; undefined: it begins here. */
  readonly from: Place | undefined;
}

/** The last event that a client has. */
export interface Place {
  readonly offset: number;
  /** Undefined where the client does not know it. */
  readonly id: string | undefined;
}

/** Judges the handshakes of sockets: how many there may be, and who; by the same rules as HTTP (spec §5.6, contract §7). */
@Injectable()
export class Handshake {
  constructor(
    private readonly tokens: AccessTokenVerifier,
    private readonly waiting: WaitingRoom,
    private readonly limits: RateLimits,
  ) {}

  /**
   * Whether an address may begin another handshake: asked before there is a transport.
   * @throws OAuthError `slow_down`
   */
  async begin(address: string | undefined): Promise<void> {
    this.waiting.assertRoomFor(address);
    await this.limits.count('connect', address);
  }

  /**
   * Who a client is.
   * @param address that it came from
   * @throws OAuthError `invalid_token`, `invalid_request` or `slow_down`
   */
  async admit({ handshake }: Pick<Socket, 'handshake'>, address: string | undefined): Promise<Admission> {
    const auth = handshake.auth as Record<string, unknown>;
    const from = readPlace(auth);
    const token = readToken(auth['token'], handshake.headers.authorization);
    const verified = token === undefined ? undefined : await this.tokens.find(token);
    if (verified) return { ...verified, from };
    await this.limits.count('bad_token', address);
    throw new OAuthError('invalid_token', 'the access token is missing, invalid, has expired or was ended');
  }
}

/** From `auth.token`, else from the header; never from the query, which stands in logs. */
function readToken(token: unknown, header: string | undefined): string | undefined {
  if (token !== undefined && token !== null) return typeof token === 'string' ? token : undefined;
  return /^Bearer +(\S+)$/i.exec(header ?? '')?.[1];
}

/** `id` without `offset` is ignored (contract §7). */
function readPlace({ offset, id }: Record<string, unknown>): Place | undefined {
  if (offset === undefined || offset === null) return undefined;
  if (!Number.isSafeInteger(offset) || (offset as number) < 0) {
    throw new OAuthError('invalid_request', 'offset must be a whole number that is not negative');
  }
  if (id === undefined || id === null) return { offset: offset as number, id: undefined };
  if (typeof id === 'string' && UUID.test(id)) return { offset: offset as number, id: id.toLowerCase() };
  throw new OAuthError('invalid_request', 'id must be the UUID of an event');
}
