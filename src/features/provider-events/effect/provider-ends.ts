import { Injectable, Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Origin } from '../../../audit/audit-event.js';
import { AuditStore } from '../../../audit/audit.store.js';
import { ChannelHistory, type ChannelTransaction } from '../../../channel/channel.history.js';
import { SignOutService } from '../../../device/sign-out.service.js';
import type { EndCause } from '../../../platform/events.js';
import {
  forgetToken,
  RecentEnds,
  rememberToken,
  type ProviderNames,
} from '../../../token/sessions/recent-ends.js';
import type { NamesAtProvider } from '../../../token/sessions/session.store.js';
import { lockUser } from '../../../user/lock-user.js';

const LONGER_S = 60; // seconds beyond the token's end, for differences between clocks

/** Sessions that a token means. */
interface Named extends ProviderNames {
  /** In order. */
  readonly userIds: readonly string[];
  readonly names: NamesAtProvider;
}

interface EndOptions {
  readonly cause: EndCause;
  /** Latest begin of a session; null: now. */
  readonly until: Date | null;
}

/** What all tokens of a provider do: each has its effect once, and ends sessions in slices. */
@Injectable()
export class ProviderEnds {
  private readonly logger = new Logger(ProviderEnds.name);

  constructor(
    private readonly history: ChannelHistory,
    private readonly signOuts: SignOutService,
    private readonly ends: RecentEnds,
    private readonly audit: AuditStore,
  ) {}

  /**
   * Applies a token, one slice in each transaction. The token is stored first, so that two requests with it
   * wait for each other, and deleted if sessions are left: it can be repeated after a failure.
   * @param until when the token expires: seconds since the epoch
   * @param applySlice returns whether it was the last slice
   * @returns false if the token was used before
   */
  async applyOnce(
    tokenHash: Buffer,
    until: number,
    applySlice: (within: ChannelTransaction) => Promise<boolean>,
  ): Promise<boolean> {
    let slice: 'one of several' | 'last' | 'used' = 'one of several';
    while (slice === 'one of several') {
      slice = await this.history.transaction(async (within) => {
        if (!(await rememberToken(within.manager, tokenHash, until + LONGER_S))) return 'used';
        if (await applySlice(within)) return 'last';
        await forgetToken(within.manager, tokenHash);
        return 'one of several';
      });
    }
    return slice === 'last';
  }

  /** Ends a slice of the sessions, and stores their names for sign-ins in progress. */
  async endSlice(
    within: ChannelTransaction,
    provider: string,
    { userIds, names, subject, session, email = null }: Named,
    origin: Origin,
    options: EndOptions,
  ): Promise<{ readonly isLast: boolean; readonly count: number }> {
    await this.ends.remember(within.manager, provider, { subject, session, email }, options.until);
    return this.signOuts.endSliceOf(userIds, names, within, origin, options);
  }

  /**
   * Ends sessions that were committed before their sign-in could see the end, also of users who did not exist
   * then. The token is used, so a failure is only logged.
   * @param find finds the sessions again
   * @returns whether there are users
   */
  async endLate(
    find: (manager: EntityManager) => Promise<Pick<Named, 'userIds' | 'names'> | undefined>,
    origin: Origin,
    options: EndOptions,
  ): Promise<boolean> {
    try {
      let isKnown = false;
      const endSlice = async (within: ChannelTransaction): Promise<boolean> => {
        const named = await find(within.manager);
        if (!named) return true;
        isKnown = named.userIds.length > 0;
        return (await this.signOuts.endSliceOf(named.userIds, named.names, within, origin, options)).isLast;
      };
      while (!(await this.history.transaction(endSlice)));
      return isKnown;
    } catch (error) {
      this.logger.warn({
        err: error,
        msg: 'sessions that began during an end by the provider could not be ended',
      });
      return true;
    }
  }

  /** Records what an event or a revocation did. @param userId of a user who may have been removed */
  async record(
    manager: EntityManager,
    provider: string,
    userId: string | undefined,
    reason: string,
    origin: Origin,
  ): Promise<void> {
    const isKnown = userId !== undefined && (await lockUser(manager, userId)) !== undefined;
    await this.audit.write(manager, [
      { event: 'signal_received', userId: isKnown ? userId : null, provider, reason, origin },
    ]);
  }
}
