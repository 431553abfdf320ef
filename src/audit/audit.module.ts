import { Global, Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { SETTINGS } from '../config/settings/settings.js';
import { Sql } from '../database/sql.js';
import { Events } from '../events.js';
import { AuditFeed } from './audit-feed.js';
import { AuditLog } from './audit-log.js';
import { AuditStreams } from './audit-streams.js';
import { createAuditStore } from './audit.store.citus.js';
import { AuditStore } from './audit.store.js';
import { AuditTrail } from './audit.trail.js';
import { createAuditSearch } from './search/audit-search.citus.js';
import { AuditSearch } from './search/audit-search.js';
import { AuditController } from './search/audit.controller.js';
import { SignInCounts } from './sign-in-counts.js';
import { WebhookStore } from './webhooks/webhook.store.js';
import { Webhooks } from './webhooks/webhooks.js';

/** The audit trail, to which every module writes; its search, streams and webhooks. */
@Global()
@Module({
  controllers: [AuditController],
  providers: [
    { provide: AuditStore, inject: [DataSource, Sql, Events, SETTINGS], useFactory: createAuditStore },
    { provide: AuditSearch, inject: [DataSource, Sql], useFactory: createAuditSearch },
    AuditFeed,
    AuditLog,
    AuditStreams,
    AuditTrail,
    SignInCounts,
    Webhooks,
    WebhookStore,
  ],
  exports: [AuditSearch, AuditStore, AuditTrail, SignInCounts],
})
export class AuditModule {}
