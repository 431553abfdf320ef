import { Injectable, Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Origin } from '../../../audit/audit-event.js';
import { ChannelHistory, type ChannelTransaction } from '../../../channel/channel.history.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import { RecentEnds } from '../../../token/sessions/recent-ends.js';
import { OtherSubject } from '../receiver/subject.js';
import type { Meant } from './meant-users.js';

/** Ends sessions on a signal of the provider (docs/signals.md#effects). */
@Injectable()
export class SignalEndings {
  private readonly logger = new Logger('Signals');

  constructor(
    private readonly signOuts: SignOutService,
    private readonly ends: RecentEnds,
    private readonly history: ChannelHistory,
  ) {}

  /**
   * Ends a slice of the sessions, and stores the names for sign-ins in progress.
   * @param until latest begin of a session; null: now
   */
  async endSlice(
    within: ChannelTransaction,
    provider: string,
    { userIds, names, subject, email, session }: Meant,
    origin: Origin,
    until: Date | null,
  ): Promise<{ readonly isLast: boolean; readonly count: number }> {
    await this.ends.remember(within.manager, provider, { subject, session, email }, until);
    return this.signOuts.endSliceOf(userIds, names, within, origin, { cause: 'signal', until });
  }

  /**
   * Ends sessions that were committed before their sign-in could see the signal, also of users who did not
   * exist then. The token is used, so a failure is only logged.
   * @param find finds the users again
   * @returns whether there are such users
   */
  async endLate(
    find: (manager: EntityManager) => Promise<Meant | OtherSubject>,
    origin: Origin,
    until: Date | null,
  ): Promise<boolean> {
    try {
      let isKnown = false;
      const end = async (within: ChannelTransaction) => {
        const meant = await find(within.manager);
        if (meant instanceof OtherSubject) return { isLast: true };
        isKnown = meant.userIds.length > 0;
        return this.signOuts.endSliceOf(meant.userIds, meant.names, within, origin, {
          cause: 'signal',
          until,
        });
      };
      while (!(await this.history.transaction(end)).isLast);
      return isKnown;
    } catch (error) {
      this.logger.warn({ err: error, msg: 'sessions that began during a signal could not be ended' });
      return true;
    }
  }
}
