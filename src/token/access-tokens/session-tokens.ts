import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { SessionIds } from '../../platform/events.js';
import { Session } from '../sessions/session.entity.js';
import { LIVING } from '../sessions/session.sql.js';
import { AccessToken } from './access-token.entity.js';
import { AccessTokens, type IssuedAccessToken, type TokenContent } from './access-token.js';

/** Tokens of sessions without a refresh token: such a session lasts as long as its last token. */
@Injectable()
export class SessionTokens {
  constructor(private readonly accessTokens: AccessTokens) {}

  /**
   * Issues a token in the session of a user whom the caller has locked.
   * @returns undefined if the session has ended
   */
  async issue(
    manager: EntityManager,
    session: SessionIds,
    content: TokenContent,
  ): Promise<IssuedAccessToken | undefined> {
    const { userId, sessionId } = session;
    const issued = this.accessTokens.issue(session, content);
    const { jti, token, exp, expiresAt } = issued;
    const { affected } = await manager
      .createQueryBuilder()
      .update(Session)
      .set({ expiresAt: () => 'greatest(expires_at, to_timestamp(:exp))' })
      .where(`user_id = :userId AND session_id = :sessionId AND ${LIVING}`, { userId, sessionId, exp })
      .execute();
    if (affected === 0) return undefined;
    const row = { userId, sessionId, jti, token, expiresAt: new Date(expiresAt * 1000) };
    await manager.insert(AccessToken, row);
    return issued;
  }
}
