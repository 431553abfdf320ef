import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { SignInStep, type SignedIn, UserLifecycle } from '../../extensions.js';
import { AdmissionClaimsStore } from './admission-claims.store.js';

/**
 * Forgets claims of a former `ADMISSION_URL`: if it is set again, a re-check must not lay them over the
 * claims of a later sign-in.
 */
@Injectable()
@SignInStep({ after: 'keep' })
@UserLifecycle()
export class FormerAdmission implements SignInStep, UserLifecycle {
  constructor(
    private readonly claims: AdmissionClaimsStore,
    private readonly dataSource: DataSource,
  ) {}

  after({ session }: SignedIn): Promise<void> {
    return this.claims.forget(this.dataSource.manager, session.userId);
  }

  removed(manager: EntityManager, userId: string): Promise<void> {
    return this.claims.forget(manager, userId);
  }
}
