import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ChannelModule } from '../channel/channel.module.js';
import type { Settings } from '../config/settings/settings.js';
import { SETTINGS } from '../config/settings/settings.module.js';
import { directTarget } from '../database/pool/connection-target.js';
import { RedisConnection } from '../redis/redis-connection.js';
import { OpenFiles } from '../http/server/open-files.js';
import { TokenModule } from '../token/token.module.js';
import { Admission } from './admission/admission.js';
import { ConnectionRegistry } from './socket/connection-registry.js';
import { Handshake } from './admission/handshake.js';
import { Fanout } from './fanout/fanout.js';
import { PostgresListener } from './fanout/postgres-listener.js';
import { PostgresTransport } from './fanout/postgres.transport.js';
import { RedisTransport } from './fanout/redis.transport.js';
import { FANOUT_TRANSPORT, type FanoutTransport } from './fanout/transport.js';
import { PushController } from './push/push.controller.js';
import { PushStore } from './push/push.store.js';
import { RealtimeGateway } from './socket/realtime.gateway.js';
import { RealtimeService } from './push/realtime.service.js';
import { Renewals } from './socket/renewal.js';
import { ChannelHub } from './delivery/channel-hub.js';
import { Delivery } from './delivery/delivery.js';
import { HistoryReads } from './delivery/user-channel.js';

@Module({
  imports: [ChannelModule, DiscoveryModule, TokenModule],
  controllers: [PushController],
  providers: [
    Admission,
    ConnectionRegistry,
    Handshake,
    Fanout,
    { provide: FANOUT_TRANSPORT, inject: [SETTINGS, RedisConnection], useFactory: fanoutTransport },
    OpenFiles,
    PushStore,
    RealtimeGateway,
    RealtimeService,
    Renewals,
    ChannelHub,
    Delivery,
    HistoryReads,
  ],
  exports: [RealtimeService],
})
export class RealtimeModule {}

/** Redis if configured, else the database (contract §7). */
function fanoutTransport(settings: Settings, redis: RedisConnection | undefined): FanoutTransport {
  const key = settings.secretKey.derive('hints');
  if (redis) return new RedisTransport(redis, key);
  return new PostgresTransport(new PostgresListener(directTarget(settings).Client, 'latchkey_hints'), key);
}
