import { Inject, Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SignInStep, type SignedIn } from '../../extensions.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { AdmissionClaimsStore } from './admission-claims.store.js';

/**
 * Forgets claims of a former `ADMISSION_URL`: once it is set again, they must not be laid over the claims of
 * a later sign-in.
 */
@Injectable()
@SignInStep({ after: 'keep' })
export class FormerAdmission implements SignInStep {
  constructor(
    private readonly claims: AdmissionClaimsStore,
    private readonly dataSource: DataSource,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async after({ provider, session }: SignedIn): Promise<void> {
    if (this.settings.providers.get(provider)?.offline)
      await this.claims.forget(this.dataSource.manager, session.userId);
  }
}
