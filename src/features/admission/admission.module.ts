import { Module, type DynamicModule } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import { AdmissionCheck } from './admission-check.js';
import { AdmissionClaimsStore } from './admission-claims.store.js';
import { AdmissionService } from './admission.service.js';
import { FormerAdmission } from './former-admission.js';

/** Asks a service of the operator at each sign-in (docs/guides/access-policy.md#ask-a-service-of-yours). */
@Module({ imports: [AuthModule], providers: [AdmissionClaimsStore] })
export class AdmissionModule {
  static forRoot({ admissionUrl, providers }: Settings): DynamicModule {
    if (admissionUrl !== undefined)
      return { module: AdmissionModule, providers: [AdmissionCheck, AdmissionService] };
    const isAnyOffline = [...providers.values()].some(({ offline }) => offline);
    return { module: AdmissionModule, providers: isAnyOffline ? [FormerAdmission] : [] };
  }
}
