import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { SignedIn } from '../../../extensions.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { Sql } from '../../../platform/database/sql.js';
import type { SessionKey } from '../../../token/sessions/session.store.js';
import { SessionFacts } from './session-facts.entity.js';
import { KEEP_FACTS } from './session-facts.sql.js';

declare module '../../../provider/identity/identity.js' {
  interface IdentityFacts {
    /** Session that has approved the sign-in on another device. */
    readonly approvedBy?: string;
  }
}

type NewFacts = Omit<SessionFacts, 'expiresAt'>;

/** Keeps of each sign-in what a session that it approves later takes over. */
@Injectable()
export class SessionFactsStore {
  private readonly insert: (row: NewFacts) => Promise<NewFacts>;

  constructor(
    private readonly dataSource: DataSource,
    private readonly sql: Sql,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.insert = sql.batched(KEEP_FACTS.name, (rows: NewFacts[]) => this.insertAll(rows));
  }

  async find({ userId, sessionId }: SessionKey): Promise<SessionFacts | undefined> {
    const { manager } = this.dataSource;
    return (await manager.findOneBy(SessionFacts, { userId, sessionId })) ?? undefined;
  }

  async keep({ identity, session }: SignedIn): Promise<void> {
    const { email, subject, session: atProvider, authTime, acr, amr, sessionExpiry } = identity;
    const { isEmailVerified, hostedDomain } = identity.proof;
    const facts = { email, subject, session: atProvider, authTime, acr, amr, sessionExpiry };
    await this.insert({
      userId: session.userId,
      sessionId: session.sessionId,
      facts: { ...facts, rawClaims: identity.rawClaims, isEmailVerified, hostedDomain },
      approvedBy: identity.facts.approvedBy ?? null,
    });
  }

  private async insertAll(rows: NewFacts[]): Promise<NewFacts[]> {
    await this.sql.query(KEEP_FACTS, [
      rows.map(({ userId }) => userId),
      rows.map(({ sessionId }) => sessionId),
      rows.map(({ facts }) => JSON.stringify(facts)),
      rows.map(({ approvedBy }) => approvedBy),
      this.settings.refreshTokenTtl,
    ]);
    return rows;
  }
}
