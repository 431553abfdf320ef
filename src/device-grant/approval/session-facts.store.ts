import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SignInChecks, type SignedIn } from '../../auth/sign-in/sign-in-checks.js';
import { SETTINGS, type Settings } from '../../config/settings/settings.js';
import type { Identity } from '../../provider/identity/identity.js';
import { SessionFacts } from './session-facts.entity.js';

/** An identity of a session that another device has approved. */
export type ApprovedIdentity = Identity & { readonly byDeviceGrant: true };

/** Keeps of each sign-in what a session that it approves later takes over. */
@Injectable()
export class SessionFactsStore implements OnModuleInit {
  constructor(
    private readonly checks: SignInChecks,
    private readonly dataSource: DataSource,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    this.checks.addFollower((signedIn) => this.keep(signedIn));
  }

  async find(sessionId: string): Promise<SessionFacts | undefined> {
    return (await this.dataSource.manager.findOneBy(SessionFacts, { sessionId })) ?? undefined;
  }

  /** Also of a user who is being removed. */
  async forget(userId: string): Promise<void> {
    await this.dataSource.manager.delete(SessionFacts, { userId });
  }

  private async keep({ identity, session }: SignedIn): Promise<void> {
    const { email, subject, session: atProvider, authTime, acr, amr, sessionExpiry } = identity;
    const { isEmailVerified, hostedDomain } = identity.proof;
    const facts = { email, subject, session: atProvider, authTime, acr, amr, sessionExpiry };
    await this.dataSource.manager.insert(SessionFacts, {
      sessionId: session.sessionId,
      userId: session.userId,
      facts: { ...facts, directoryName: identity.directoryName, isEmailVerified, hostedDomain },
      byDeviceGrant: 'byDeviceGrant' in identity,
      expiresAt: () => `now() + interval '${this.settings.refreshTokenTtl} s'`,
    });
  }
}
