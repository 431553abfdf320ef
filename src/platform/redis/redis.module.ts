import { Global, Logger, Module } from '@nestjs/common';
import type { Redis, RedisOptions } from 'ioredis';
import { Background } from '../background.js';
import { currentSecret } from '../config/secrets/current-secret.js';
import { settingsTable } from '../config/settings/settings-table.js';
import { SETTINGS, type Settings } from '../config/settings/settings.js';
import type { SentinelUrl } from '../config/urls/redis-url.js';
import { RedisConnection } from './redis-connection.js';

const CONNECT_MS = 1000;
const COMMAND_MS = 500;
const retryStrategy = (attempt: number): number => Math.min(attempt * 100, 1000);

/** The service works without Redis, so a command without an early answer fails early. */
const REDIS_OPTIONS = {
  connectionName: 'latchkey',
  connectTimeout: CONNECT_MS,
  commandTimeout: COMMAND_MS,
  socketTimeout: COMMAND_MS, // without an answer for this long, ioredis reconnects
  disconnectTimeout: 500,
  enableOfflineQueue: false,
  enableReadyCheck: false, // the self-test checks more
  maxRetriesPerRequest: 0, // a repeated command could publish an event twice
  retryStrategy,
} satisfies RedisOptions;

/**
 * Options if Sentinels name the master: ioredis asks them before each connection. Without `failoverDetector`,
 * because a failover during a connection attempt would stop ioredis for good.
 */
function sentinelOptions({ tls, ...url }: SentinelUrl) {
  return {
    ...REDIS_OPTIONS,
    ...url,
    sentinels: [...url.sentinels],
    role: 'master' as const,
    sentinelCommandTimeout: COMMAND_MS,
    sentinelRetryStrategy: retryStrategy,
    ...(tls && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
  } satisfies RedisOptions;
}

/**
 * Provides the connection, which is undefined without REDIS_URL. Without this module the start fails, instead
 * of leaving each instance alone with its counts and events.
 */
@Global()
@Module({
  providers: [{ provide: RedisConnection, inject: [SETTINGS, Background], useFactory: connectAndPing }],
  exports: [RedisConnection],
})
export class RedisModule {}

async function connectAndPing(settings: Settings, background: Background) {
  const redis = await connectRedis(settings);
  if (redis) background.repeat('ping-redis', () => redis.subscriber.ping());
  return redis;
}

/** Opens the connections; their self-test follows. @returns undefined without REDIS_URL */
export async function connectRedis({
  redisUrl,
  secretFiles,
}: Settings): Promise<RedisConnection | undefined> {
  if (redisUrl === undefined) return undefined;
  const { Redis } = await import('ioredis'); // 20 MiB that a service without Redis need not load
  const client =
    typeof redisUrl === 'string' ? new Redis(redisUrl, REDIS_OPTIONS) : new Redis(sentinelOptions(redisUrl));
  const redis = new RedisConnection(client);
  for (const connection of [redis.client, redis.subscriber]) followSecret(connection, redisUrl, secretFiles);
  return redis;
}

/** Lets new connections use the current credentials (docs/maintenance.md#rotating-secrets). */
function followSecret(redis: Redis, url: string | SentinelUrl, secretFiles: Settings['secretFiles']): void {
  const { name, parser } = settingsTable.redisUrl;
  const file = secretFiles.get(name);
  if (!file) return;
  const current = currentSecret(file, parser, url, (line) => new Logger('Redis').warn(line));
  // Emitted before each attempt, which reads the options.
  redis.on('reconnecting', () => Object.assign(redis.options, toCredentials(current.now())));
}

function toCredentials(url: string | SentinelUrl): RedisOptions {
  if (typeof url === 'string') {
    const { username, password } = new URL(url);
    return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  }
  const { username, password, sentinelUsername, sentinelPassword } = url;
  return { username, password, sentinelUsername, sentinelPassword };
}
