import { Injectable, Logger } from '@nestjs/common';
import type { Origin } from '../../audit/audit-event.js';
import { AuthorizationCodes } from '../../auth/clients/authorization-codes.js';
import { ChannelHistory, type ChannelTransaction } from '../../channel/channel.history.js';
import { SignOutService } from '../../device/sign-out.service.js';
import { LoggedOut } from '../../provider/logout/logged-out.js';
import type { Meant } from './meant-users.js';

/** Ends sessions on a signal of the provider (docs/signals.md#effects). */
@Injectable()
export class SignalEndings {
  private readonly logger = new Logger('Signals');

  constructor(
    private readonly signOuts: SignOutService,
    private readonly loggedOut: LoggedOut,
    private readonly codes: AuthorizationCodes,
    private readonly history: ChannelHistory,
  ) {}

  /**
   * Ends a slice of the sessions.
   * @param until latest begin of a session; null: any
   * @param isNow whether sign-ins in progress are meant
   */
  async endSlice(
    within: ChannelTransaction,
    provider: string,
    { userIds, names, subject, session }: Meant,
    origin: Origin,
    until: Date | null,
    isNow: boolean,
  ): Promise<{ readonly isLast: boolean; readonly count: number }> {
    if (isNow) await this.loggedOut.remember(within.manager, provider, { subject, session });
    return this.signOuts.endSliceOf(userIds, names, within, origin, { cause: 'signal', until });
  }

  /**
   * Ends sessions that were committed before their sign-in could see the signal, and takes back codes of
   * stock clients. The token is used, so a failure is only logged.
   */
  async endLate({ userIds, names, session }: Meant, origin: Origin, until: Date | null): Promise<void> {
    try {
      if (session === null) for (const userId of userIds) await this.codes.forget(userId);
      const end = (within: ChannelTransaction) =>
        this.signOuts.endSliceOf(userIds, names, within, origin, { cause: 'signal', until });
      while (!(await this.history.transaction(end)).isLast);
    } catch (error) {
      this.logger.warn({ err: error, msg: 'sessions that began during a signal could not be ended' });
    }
  }
}
