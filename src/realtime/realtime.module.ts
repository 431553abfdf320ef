import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ChannelModule } from '../channel/channel.module.js';
import type { Settings } from '../config/settings.js';
import { SETTINGS } from '../config/settings.module.js';
import { Notifications } from '../database/notifications.js';
import { directWay } from '../database/ways.js';
import { RedisConnection } from '../redis/redis-connection.js';
import { OpenFiles } from '../http/open-files.js';
import { TokenModule } from '../token/token.module.js';
import { AdmissionQueue } from './admission-queue.js';
import { ConnectionRegistry } from './connection-registry.js';
import { Handshake } from './handshake.js';
import { HintBus } from './hint-bus.js';
import { HINT_CARRIER, type HintCarrier } from './hint-carrier.js';
import { PostgresHints } from './postgres-hints.js';
import { PushController } from './push.controller.js';
import { PushStore } from './push.store.js';
import { RealtimeGateway } from './realtime.gateway.js';
import { RealtimeService } from './realtime.service.js';
import { RedisHints } from './redis-hints.js';
import { Renewals } from './renewal.js';
import { ChannelHub } from './channel-hub.js';
import { WaitingRoom } from './waiting-room.js';

@Module({
  imports: [ChannelModule, DiscoveryModule, TokenModule],
  controllers: [PushController],
  providers: [
    AdmissionQueue,
    ConnectionRegistry,
    Handshake,
    HintBus,
    { provide: HINT_CARRIER, inject: [SETTINGS, RedisConnection], useFactory: hintCarrier },
    OpenFiles,
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

/** Redis where there is one, else the database (contract §7). */
function hintCarrier(settings: Settings, redis: RedisConnection | undefined): HintCarrier {
  const key = settings.secretKey.derive('hints');
  if (redis) return new RedisHints(redis, key);
  return new PostgresHints(new Notifications(directWay(settings).Client, 'latchkey_hints'), key);
}
