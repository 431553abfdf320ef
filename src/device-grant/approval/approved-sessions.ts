import { Injectable, Logger } from '@nestjs/common';
import { systemOrigin } from '../../audit/audit-event.js';
import { SignOutService } from '../../device/sign-out.service.js';
import { Events, type EndCause, type EndedSession } from '../../events.js';
import { SessionFactsStore } from './session-facts.store.js';

/** A provider ends what began before its event; a session that was approved later rests on that sign-in. */
const BY_PROVIDER: readonly (EndCause | null)[] = ['signal', 'provider_ended'];

/** Sessions of one look-up. */
const MOST = 1000;

/**
 * Ends the sessions that a session has approved, if the provider has ended that session
 * (docs/device-sign-in.md#the-session).
 */
@Injectable()
export class ApprovedSessions {
  private readonly logger = new Logger('DeviceGrant');
  private waiting: EndedSession[] = [];

  constructor(
    private readonly facts: SessionFactsStore,
    private readonly signOuts: SignOutService,
    events: Events,
  ) {
    events.on('session.ended', (ended) => {
      if (!BY_PROVIDER.includes(ended.cause)) return;
      // The sessions of one reading are looked up together.
      if (this.waiting.push(ended) === 1) setImmediate(() => void this.endApproved());
    });
  }

  /** Never rejects. */
  private async endApproved(): Promise<void> {
    const ended = this.waiting;
    this.waiting = [];
    try {
      for (let at = 0; at < ended.length; at += MOST) {
        for (const session of await this.facts.findApprovedBy(ended.slice(at, at + MOST))) {
          const ids = { ...session, deviceId: null };
          await this.signOuts.signOut('session', ids, systemOrigin(), { cause: 'provider_ended' });
        }
      }
    } catch (error) {
      this.logger.warn({ err: error, msg: 'sessions that an ended session had approved were not ended' });
    }
  }
}
