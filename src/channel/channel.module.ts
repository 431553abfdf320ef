import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ChannelHistory } from './channel.history.js';
import { IdempotencyStore } from './idempotency.store.js';
import { Instance, Presence } from './presence.entity.js';
import { PresenceStore } from './presence.store.js';
import { PresenceTracker } from './presence.tracker.js';

/** History and presence of a user's channel. Not global: a global module shuts down after the connection pool is closed. */
@Module({
  imports: [TypeOrmModule.forFeature([Instance, Presence])],
  providers: [ChannelHistory, IdempotencyStore, PresenceStore, PresenceTracker],
  exports: [ChannelHistory, IdempotencyStore, PresenceStore, PresenceTracker],
})
export class ChannelModule {}
