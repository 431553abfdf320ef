import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { replaceable } from '../platform/database/replaceable.js';
import { ChannelHistory } from './channel.history.js';
import { IdempotencyStore } from './idempotency.store.js';
import { Instance, Presence } from './presence.entity.js';
import { PresenceStore } from './presence.store.js';
import { PresenceTracker } from './presence.tracker.js';

/**
 * History and presence of users' channels. Not global: a global module shuts down after the pool is closed.
 */
@Module({
  imports: [TypeOrmModule.forFeature([Instance, Presence])],
  providers: [replaceable(ChannelHistory), IdempotencyStore, PresenceStore, PresenceTracker],
  exports: [ChannelHistory, IdempotencyStore, PresenceStore, PresenceTracker],
})
export class ChannelModule {}
