import { Module } from '@nestjs/common';
import { SETTINGS } from '../config/settings/settings.module.js';
import type { Settings } from '../config/settings/settings.js';
import { AuditFeed } from './audit-feed.js';
import { AuditStreams, AuditStreamsController } from './audit-streams.js';
import { WebhookHttp } from './webhooks/webhook-http.js';
import { WebhookStore } from './webhooks/webhook.store.js';
import { Webhooks } from './webhooks/webhooks.js';

const webhookHttp = {
  provide: WebhookHttp,
  inject: [SETTINGS],
  useFactory: ({ webhookPrivate }: Settings) => new WebhookHttp(webhookPrivate),
};

@Module({
  controllers: [AuditStreamsController],
  providers: [AuditFeed, AuditStreams, Webhooks, WebhookStore, webhookHttp],
})
export class AuditFeedModule {}
