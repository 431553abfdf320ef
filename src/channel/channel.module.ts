import { Global, Module } from '@nestjs/common';
import { ChannelHistory } from './channel.history.js';
import { PresenceStore } from './presence.store.js';

/** What a user's channel holds: its history, and who is connected to it. The sockets are the realtime room's. */
@Global()
@Module({
  providers: [ChannelHistory, PresenceStore],
  exports: [ChannelHistory, PresenceStore],
})
export class ChannelModule {}
