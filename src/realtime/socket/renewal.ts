import { Injectable } from '@nestjs/common';
import { Clock } from '../../database/clock.js';
import { OAuthError } from '../../errors/oauth-error.js';
import type { Session } from '../../events.js';
import { AccessTokenVerifier } from '../../token/access-tokens/access-token.verifier.js';
import type { Connection } from './connection.js';

/** What a new token gives to a connection. */
export interface Renewal {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** The key that signed the token. */
  readonly kid: string;
}

/** Judges what `authenticate` brings: a new token of the same session, in time (contract §7). */
@Injectable()
export class Renewals {
  constructor(
    private readonly tokens: AccessTokenVerifier,
    private readonly clock: Clock,
  ) {}

  /** @throws OAuthError `invalid_token` */
  async judge(connection: Connection, body: unknown): Promise<Renewal> {
    const token = (body as { token?: unknown } | null | undefined)?.token;
    const verified = typeof token === 'string' ? await this.tokens.find(token) : undefined;
    const isLate = this.clock.now() >= connection.expiresAt; // an event may have been held back already
    if (!verified || isLate || !isSame(verified.session, connection.session)) {
      throw new OAuthError(
        'invalid_token',
        'the access token is invalid, has expired or is of another session',
      );
    }
    return { expiresAt: verified.claims.exp * 1000, kid: verified.kid };
  }
}

function isSame(one: Session, other: Session): boolean {
  return one.sessionId === other.sessionId && one.userId === other.userId;
}
