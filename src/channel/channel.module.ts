import { Global, Module } from '@nestjs/common';
import { ChannelHistory } from './channel.history.js';
import { IdempotencyStore } from './idempotency.store.js';
import { PresenceStore } from './presence.store.js';

/** What a user's channel holds: its history, and who is connected to it. The sockets are the realtime room's. */
@Global()
@Module({
  providers: [ChannelHistory, IdempotencyStore, PresenceStore],
  exports: [ChannelHistory, IdempotencyStore, PresenceStore],
})
export class ChannelModule {}
