import { Global, Module } from '@nestjs/common';
import { AuditLog } from './audit-log.js';
import { AuditController } from './search/audit.controller.js';
import { AuditSearch } from './search/audit-search.js';
import { AuditStore } from './audit.store.js';
import { AuditTrail } from './audit.trail.js';

/** The audit trail (contract §9); every module writes to it. */
@Global()
@Module({
  controllers: [AuditController],
  providers: [AuditLog, AuditSearch, AuditStore, AuditTrail],
  exports: [AuditStore, AuditTrail],
})
export class AuditModule {}
