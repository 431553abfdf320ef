import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Events, type Session } from '../events.js';
import { RefreshToken } from './refresh-token.entity.js';

/** Which sessions of a user: with `device`, all of that device. */
export type SessionScope = 'session' | 'device' | 'others' | 'all';

// `IS DISTINCT FROM`: a session without a device is another one, too.
const CONDITIONS: Record<SessionScope, string> = {
  session: 'session_id = :sessionId',
  device: 'device_id = :deviceId',
  others:
    'CASE WHEN :deviceId::uuid IS NULL THEN session_id <> :sessionId ELSE device_id IS DISTINCT FROM :deviceId END',
  all: 'true',
};

/** Ends sessions: that is how people sign out. */
@Injectable()
export class SessionStore {
  constructor(
    private readonly dataSource: DataSource,
    private readonly events: Events,
  ) {}

  /**
   * Signs sessions out: a refresh token "ends only by expiry" (spec §2.2), so its expiry becomes now. From then on its
   * access tokens are refused, since verification reads the session; whoever listens is told by EndedSessions.
   *
   * @param of the session, device and user that the scope is seen from
   * @param manager of the transaction that it shall be part of
   */
  async end(scope: SessionScope, of: Session, manager = this.dataSource.manager): Promise<void> {
    const { affected } = await manager
      .createQueryBuilder()
      .update(RefreshToken)
      .set({ signedOutAt: () => 'now()', expiresAt: () => 'least(expires_at, now())' })
      .where('user_id = :userId AND signed_out_at IS NULL', of)
      .andWhere(CONDITIONS[scope], of)
      .execute();
    this.events.emit('sign_out.requested', { userId: of.userId, scope, sessions: affected ?? 0 });
  }
}
