import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { replaceable } from '../platform/database/replaceable.js';
import { StoredAuditEvent } from './audit-event.entity.js';
import { AuditFeed } from './audit-feed.js';
import { AuditLog } from './audit-log.js';
import { AuditStreams } from './audit-streams.js';
import { AuditStore } from './audit.store.js';
import { AuditRefusals } from './audit-refusals.js';
import { AuditSearch } from './search/audit-search.js';
import { AuditWalks } from './search/audit-walks.js';
import { AuditController } from './search/audit.controller.js';
import { SignInCounts } from './sign-in-counts.js';
import { EndEvents } from './end-events.js';
import { WebhookStore } from './webhooks/webhook.store.js';
import { Webhooks } from './webhooks/webhooks.js';

/** The audit trail, to which every module writes; its search, streams and webhooks. */
@Global()
@Module({
  imports: [TypeOrmModule.forFeature([StoredAuditEvent])],
  controllers: [AuditController],
  providers: [
    replaceable(AuditStore),
    replaceable(AuditWalks),
    AuditFeed,
    AuditLog,
    AuditSearch,
    AuditStreams,
    AuditRefusals,
    EndEvents,
    SignInCounts,
    Webhooks,
    WebhookStore,
  ],
  exports: [AuditSearch, AuditStore, AuditRefusals, EndEvents, SignInCounts],
})
export class AuditModule {}
