import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TokenModule } from '../token/token.module.js';
import { Connections } from './connections.js';
import { Handshake } from './handshake.js';
import { Hints } from './hints.js';
import { PresenceTracker } from './presence.js';
import { PushController } from './push.controller.js';
import { PushStore } from './push.store.js';
import { RealtimeGateway } from './realtime.gateway.js';
import { RealtimeService } from './realtime.service.js';
import { Renewals } from './renewal.js';
import { UserChannels } from './user-channels.js';
import { WaitingRoom } from './waiting-room.js';

@Module({
  imports: [DiscoveryModule, TokenModule],
  controllers: [PushController],
  providers: [
    Connections,
    Handshake,
    Hints,
    PresenceTracker,
    PushStore,
    RealtimeGateway,
    RealtimeService,
    Renewals,
    UserChannels,
    WaitingRoom,
  ],
  exports: [RealtimeService],
})
export class RealtimeModule {}
