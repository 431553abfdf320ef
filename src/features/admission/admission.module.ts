import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module.js';
import { AdmissionCheck } from './admission-check.js';
import { AdmissionService } from './admission.service.js';

/** Asks a service of the operator at each sign-in (docs/guides/access-policy.md#ask-a-service-of-yours). */
@Module({ imports: [AuthModule], providers: [AdmissionCheck, AdmissionService] })
export class AdmissionModule {}
