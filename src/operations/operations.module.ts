import { Module } from '@nestjs/common';
import { Audit } from './audit.js';
import { HealthController } from './health.controller.js';
import { Readiness } from './readiness.js';

@Module({
  controllers: [HealthController],
  providers: [Audit, Readiness],
  exports: [Readiness],
})
export class OperationsModule {}
