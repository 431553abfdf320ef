import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { StoredAuditEvent } from './audit-event.entity.js';

/** Events of the user that are read: a sign-out ends a thousand sessions with one time. */
const MOST_READ = 5000;

const COLUMNS = ['session_id', 'event', 'reason', 'actor_type', 'actor_name'] as const;

export type EndEvent = Pick<StoredAuditEvent, 'event' | 'reason' | 'actor_type' | 'actor_name'>;

/** Finds the event of the end of a session. */
@Injectable()
export class EndEvents {
  constructor(@InjectRepository(StoredAuditEvent) private readonly stored: Repository<StoredAuditEvent>) {}

  /** @param endedAt begin of the transaction that has written the event */
  async find(userId: string, sessionId: string, endedAt: Date): Promise<EndEvent | undefined> {
    const since = this.stored
      .createQueryBuilder('one')
      .select(COLUMNS.map((name) => `one.${name} AS ${name}`))
      .where(`user_id = :userId AND at >= :endedAt::timestamptz - interval '1 second'`) // clocks of nodes
      .orderBy({ user_id: 'ASC', at: 'ASC', id: 'ASC' })
      .limit(MOST_READ);
    return this.stored.manager
      .createQueryBuilder()
      .select('*')
      .from(`(${since.getQuery()})`, 'since')
      .where(`session_id = :sessionId AND event IN ('sign_out', 'session_lost')`)
      .setParameters({ userId, sessionId, endedAt })
      .getRawOne<EndEvent>();
  }
}
