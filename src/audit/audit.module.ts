import { Global, Module } from '@nestjs/common';
import { AuditLog } from './audit-log.js';
import { AuditStore } from './audit.store.js';
import { AuditTrail } from './audit.trail.js';

/** The audit trail (contract §9); every module writes to it. */
@Global()
@Module({ providers: [AuditLog, AuditStore, AuditTrail], exports: [AuditStore, AuditTrail] })
export class AuditModule {}
