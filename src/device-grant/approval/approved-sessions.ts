import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { systemOrigin } from '../../audit/audit-event.js';
import { SignInChecks, type SignedIn } from '../../auth/sign-in/sign-in-checks.js';
import { SignOutService } from '../../device/sign-out.service.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { Events, type EndCause, type EndedSession } from '../../events.js';
import { SessionStore } from '../../token/sessions/session.store.js';
import { SessionFactsStore, type ApprovedIdentity } from './session-facts.store.js';

/** A provider ends what began before its event; a session that was approved later rests on that sign-in. */
const BY_PROVIDER: readonly (EndCause | null)[] = ['signal', 'provider_ended'];

/** Sessions of one look-up. */
const MOST = 1000;

/**
 * Sessions that rest on the session that approved them: they need it to begin, and end with it if the
 * provider ends it (docs/device-sign-in.md#the-session).
 */
@Injectable()
export class ApprovedSessions implements OnModuleInit {
  private readonly logger = new Logger('DeviceGrant');
  private waiting: EndedSession[] = [];

  constructor(
    private readonly facts: SessionFactsStore,
    private readonly signOuts: SignOutService,
    private readonly sessions: SessionStore,
    private readonly checks: SignInChecks,
    events: Events,
  ) {
    events.on('session.ended', (ended) => {
      if (!BY_PROVIDER.includes(ended.cause)) return;
      // The sessions of one reading are looked up together.
      if (this.waiting.push(ended) === 1) setImmediate(() => void this.endApproved());
    });
  }

  onModuleInit(): void {
    // before MAX_SESSIONS ends the approver
    this.checks.addFirstFollower((signedIn) => this.follow(signedIn));
  }

  /**
   * Keeps who approved, and then looks: the approving session may have ended since the check.
   * @throws OAuthError `access_denied`
   */
  private async follow(signedIn: SignedIn): Promise<void> {
    await this.facts.keep(signedIn);
    const { identity, session, origin } = signedIn;
    const { approvedBy } = identity as Partial<ApprovedIdentity>;
    if (approvedBy === undefined) return;
    if (await this.sessions.isLive({ userId: session.userId, sessionId: approvedBy })) return;
    const bySystem = { ...origin, actor: systemOrigin().actor } as const;
    await this.signOuts.signOut('session', session, bySystem, { cause: 'provider_ended' });
    throw approverEnded();
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

export function approverEnded(): OAuthError {
  return new OAuthError('access_denied', 'the session that approved the request has ended');
}
