import type { RedisOptions } from 'ioredis';
import type { SentinelUrl } from '../config/urls/redis-url.js';

const CONNECT_MS = 1000;
const COMMAND_MS = 500;
const retryStrategy = (attempt: number): number => Math.min(attempt * 100, 1000);

/** Redis is an addition that the service can do without: a command that it cannot answer soon fails soon. */
export const REDIS_OPTIONS = {
  connectionName: 'latchkey',
  connectTimeout: CONNECT_MS,
  commandTimeout: COMMAND_MS,
  socketTimeout: COMMAND_MS, // no answer for so long: the connection is dead, a new one is tried
  disconnectTimeout: 500,
  enableOfflineQueue: false,
  enableReadyCheck: false, // self-test.ts checks more
  maxRetriesPerRequest: 0, // nor said again over the next connection: Redis may have done it, and an event would come twice
  retryStrategy,
} satisfies RedisOptions;

/**
 * ... and where Sentinels say which Redis is the master: they are asked anew before each connection. Not `failoverDetector`:
 * a failover that it hears of while ioredis connects would end the connection for good.
 */
export function sentinelOptions({ tls, ...url }: SentinelUrl) {
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
