import { Global, Module } from '@nestjs/common';
import { SETTINGS } from '../config/settings/settings.module.js';
import type { Settings } from '../config/settings/settings.js';
import { RedisConnection } from './redis-connection.js';
import { followSecret } from './redis-credentials.js';
import { REDIS_OPTIONS, sentinelOptions } from './redis-options.js';

/**
 * Always part of the application. Classes that can use Redis inject the connection, which is undefined without REDIS_URL. So
 * a module that was forgotten stops the start, instead of leaving each instance alone with its counts and events.
 */
@Global()
@Module({
  providers: [{ provide: RedisConnection, inject: [SETTINGS], useFactory: connect }],
  exports: [RedisConnection],
})
export class RedisModule {}

async function connect({ redisUrl, secretFiles }: Settings): Promise<RedisConnection | undefined> {
  if (redisUrl === undefined) return undefined;
  const { Redis } = await import('ioredis'); // 20 MiB that a service without Redis need not load
  const client =
    typeof redisUrl === 'string' ? new Redis(redisUrl, REDIS_OPTIONS) : new Redis(sentinelOptions(redisUrl));
  const redis = new RedisConnection(client);
  for (const connection of [redis.client, redis.subscriber]) followSecret(connection, redisUrl, secretFiles);
  return redis;
}
