import { Injectable } from '@nestjs/common';
import type { AuditFacts } from '../../audit/audit-event.js';
import { AuditRefusals } from '../../audit/audit-refusals.js';
import { OAuthError, toServerError } from '../../platform/errors/oauth-error.js';
import { ErrorForClient } from '../clients/client-request.js';

/** What is known of a sign-in before a step of it. */
export type KnownFacts = Pick<AuditFacts, 'origin' | 'provider' | 'providerUserId' | 'deviceId'> & {
  readonly userId?: string;
};

/** Writes `sign_in_refused` to the audit trail for each sign-in that fails. */
@Injectable()
export class SignInRefusals {
  constructor(private readonly audit: AuditRefusals) {}

  /** Runs a step of a sign-in; its error is recorded with what was known before, and thrown again. */
  async watch<T>(known: KnownFacts, step: () => T | Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (thrown) {
      const isRefusal = thrown instanceof OAuthError || thrown instanceof ErrorForClient;
      const { error, reason } = isRefusal ? thrown : toServerError(thrown);
      this.audit.refused({ event: 'sign_in_refused', error, reason, ...known });
      throw thrown;
    }
  }
}
