import { Module } from '@nestjs/common';
import { ChannelModule } from '../channel/channel.module.js';
import { SETTINGS, type Settings } from '../platform/config/settings/settings.js';
import { directTarget } from '../platform/database/pool/connection-target.js';
import { replaceable } from '../platform/database/replaceable.js';
import { OpenFiles } from './handshakes/open-files.js';
import { RedisConnection } from '../platform/redis/redis-connection.js';
import { TokenModule } from '../token/token.module.js';
import { HandshakeQueue } from './handshakes/handshake-queue.js';
import { ChannelHub } from './delivery/channel-hub.js';
import { FANOUT_TRANSPORT, Fanout, type FanoutTransport } from './fanout/fanout.js';
import { MESSAGE_KEY } from './fanout/notification.js';
import { PostgresListener } from './fanout/postgres-listener.js';
import { PostgresTransport } from './fanout/postgres.transport.js';
import { RedisTransport } from './fanout/redis.transport.js';
import { PushWriter } from './push/push-writer.js';
import { PushController } from './push/push.controller.js';
import { PushService } from './push/push.service.js';
import { ConnectionRegistry } from './socket/connection-registry.js';
import { RealtimeGateway } from './socket/realtime.gateway.js';

@Module({
  imports: [ChannelModule, TokenModule],
  controllers: [PushController],
  providers: [
    HandshakeQueue,
    ChannelHub,
    ConnectionRegistry,
    Fanout,
    { provide: FANOUT_TRANSPORT, inject: [SETTINGS, RedisConnection], useFactory: fanoutTransport },
    OpenFiles,
    replaceable(PushWriter),
    RealtimeGateway,
    PushService,
  ],
  exports: [PushService],
})
export class RealtimeModule {}

/** Redis if configured, else the database. */
function fanoutTransport(settings: Settings, redis: RedisConnection | undefined): FanoutTransport {
  const key = settings.secretKey.derive(MESSAGE_KEY);
  if (redis) return new RedisTransport(redis, key);
  return new PostgresTransport(new PostgresListener(directTarget(settings).Client), key);
}
