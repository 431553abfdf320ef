import { Global, Module } from '@nestjs/common';
import type { RedisOptions } from 'ioredis';
import { SETTINGS } from '../config/settings.module.js';
import type { Settings } from '../config/settings.js';
import { RedisConnection } from './redis-connection.js';

// Redis is an addition that the service can do without: a command that it cannot answer soon fails soon.
const OPTIONS = {
  connectionName: 'latchkey',
  connectTimeout: 1000,
  commandTimeout: 500,
  socketTimeout: 500, // no answer for so long: the connection is dead, a new one is tried
  disconnectTimeout: 500,
  enableOfflineQueue: false,
  enableReadyCheck: false, // trial.ts asks for more, and tells it in the log
  maxRetriesPerRequest: 1,
  retryStrategy: (attempt: number) => Math.min(attempt * 100, 1000),
} satisfies RedisOptions;

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

async function connect({ redisUrl, rateLimit }: Settings): Promise<RedisConnection | undefined> {
  if (redisUrl === undefined) return undefined;
  const { Redis } = await import('ioredis'); // 20 MiB that a service without Redis need not load
  return new RedisConnection(new Redis(redisUrl, OPTIONS), rateLimit);
}
