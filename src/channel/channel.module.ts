import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ChannelHistory } from './channel.history.js';
import { ChannelRemoval } from './channel.removal.js';
import { IdempotencyStore } from './idempotency.store.js';
import { Instance } from './instance.entity.js';
import { Presence } from './presence.entity.js';
import { PresenceStore } from './presence.store.js';
import { PresenceTracker } from './presence.tracker.js';

/**
 * What a user's channel holds: its history, and who is connected to it. The sockets are the realtime room's. Not global:
 * what a global module does when the service stops comes after the pool of connections is closed.
 */
@Module({
  imports: [TypeOrmModule.forFeature([Instance, Presence])],
  providers: [ChannelHistory, ChannelRemoval, IdempotencyStore, PresenceStore, PresenceTracker],
  exports: [ChannelHistory, ChannelRemoval, IdempotencyStore, PresenceStore, PresenceTracker],
})
export class ChannelModule {}
