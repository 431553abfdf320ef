import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ChannelModule } from '../channel/channel.module.js';
import { TokenModule } from '../token/token.module.js';
import { ConnectionRegistry } from './connection-registry.js';
import { Handshake } from './handshake.js';
import { HintBus } from './hint-bus.js';
import { PushController } from './push.controller.js';
import { PushStore } from './push.store.js';
import { RealtimeGateway } from './realtime.gateway.js';
import { RealtimeService } from './realtime.service.js';
import { Renewals } from './renewal.js';
import { ChannelHub } from './channel-hub.js';
import { WaitingRoom } from './waiting-room.js';

@Module({
  imports: [ChannelModule, DiscoveryModule, TokenModule],
  controllers: [PushController],
  providers: [
    ConnectionRegistry,
    Handshake,
    HintBus,
    PushStore,
    RealtimeGateway,
    RealtimeService,
    Renewals,
    ChannelHub,
    WaitingRoom,
  ],
  exports: [RealtimeService],
})
export class RealtimeModule {}
