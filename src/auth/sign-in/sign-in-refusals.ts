import { Injectable } from '@nestjs/common';
import type { Origin } from '../../audit/audit-event.js';
import { AuditTrail } from '../../audit/audit.trail.js';
import { OAuthError, toServerError } from '../../errors/oauth-error.js';
import { ErrorForClient } from '../clients/client-request.js';

/** What is known of a sign-in by the time that it fails. */
export interface Attempt {
  provider?: string;
  userId?: string;
  providerUserId?: string;
  deviceId?: string | null;
}

/** Writes `sign_in_refused` to the audit trail for each sign-in that fails. */
@Injectable()
export class SignInRefusals {
  constructor(private readonly audit: AuditTrail) {}

  /** @param work one step of a sign-in, which notes what it learns; its error is recorded, and thrown again */
  async report<T>(origin: Origin, work: (attempt: Attempt) => Promise<T>): Promise<T> {
    const attempt: Attempt = {};
    try {
      return await work(attempt);
    } catch (thrown) {
      const isRefusal = thrown instanceof OAuthError || thrown instanceof ErrorForClient;
      const { error, reason } = isRefusal ? thrown : toServerError(thrown);
      this.audit.refused({ event: 'sign_in_refused', error, reason, origin, ...attempt });
      throw thrown;
    }
  }
}
