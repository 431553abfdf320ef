import { Logger } from '@nestjs/common';
import type { Redis, RedisOptions } from 'ioredis';
import { currentSecret } from '../config/secrets/current-secret.js';
import type { SentinelUrl } from '../config/urls/redis-url.js';
import type { Settings } from '../config/settings/settings.js';
import { settingsTable } from '../config/settings/settings-table.js';

const logger = new Logger('Redis');

/** Each new connection uses the user and the password that `REDIS_URL_FILE` holds then (contract §2). */
export function followSecret(
  connection: Redis,
  redisUrl: string | SentinelUrl,
  secretFiles: Settings['secretFiles'],
): void {
  const { name, parser } = settingsTable.redisUrl;
  const file = secretFiles.get(name);
  if (!file) return;
  const current = currentSecret(file, parser, redisUrl, (line) => logger.warn(line));
  // ioredis says so before each attempt, and reads its options at the attempt.
  connection.on('reconnecting', () => Object.assign(connection.options, credentialsOf(current.now())));
}

function credentialsOf(url: string | SentinelUrl): RedisOptions {
  if (typeof url === 'string') {
    const { username, password } = new URL(url);
    return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
  }
  const { username, password, sentinelUsername, sentinelPassword } = url;
  return { username, password, sentinelUsername, sentinelPassword };
}
