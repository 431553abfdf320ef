import { Module } from '@nestjs/common';
import { WriteCheck } from '../database/write-check.js';
import { Audit } from './audit.js';
import { HealthController } from './health.controller.js';
import { Readiness } from './readiness.js';

@Module({
  controllers: [HealthController],
  providers: [Audit, Readiness, WriteCheck],
  exports: [Readiness],
})
export class OperationsModule {}
