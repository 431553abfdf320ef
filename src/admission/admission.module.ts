import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../auth/auth.module.js';
import { User } from '../user/user.entity.js';
import { AdmissionCheck } from './admission-check.js';
import { AdmissionClaims } from './admission-claims.js';
import { AdmissionService } from './admission.service.js';

/**
 * Asks a service of the operator at each sign-in (docs/guides/access-policy.md#ask-a-service-of-yours).
 * Global: who asks a provider again needs AdmissionClaims, if there are any.
 */
@Global()
@Module({
  imports: [AuthModule, TypeOrmModule.forFeature([User])],
  providers: [AdmissionCheck, AdmissionClaims, AdmissionService],
  exports: [AdmissionClaims],
})
export class AdmissionModule {}
