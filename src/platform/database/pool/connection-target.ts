import { Logger } from '@nestjs/common';
import { Client, type ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { currentSecret } from '../../config/secrets/current-secret.js';
import { InvalidSettings } from '../../config/settings/invalid-settings.js';
import { settingsTable } from '../../config/settings/settings-table.js';
import type { Settings } from '../../config/settings/settings.js';
import { errorMessage } from '../../errors/error-facts.js';
import { limited } from './limited-client.js';
import { SessionClient } from './session-settings.js';

const logger = new Logger('Database');

// pg 8 treats these as verify-full, with a warning that pg 9 will not.
const STRICT_MODE = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/;

export interface ConnectionTarget {
  /** A subclass of pg's client that knows its address. */
  readonly Client: typeof Client;
  /** `transaction`: a pooler that runs each transaction in another session. */
  readonly pooler: 'session' | 'transaction';
}

/** Target of the pool: `DATABASE_URL`, which may be a pooler's. */
export function usualTarget(settings: Settings): ConnectionTarget {
  return targetAt('databaseUrl', settings, settings.databasePooler);
}

/** Target that bypasses a pooler, for what lives longer than a transaction; `DATABASE_URL` by default. */
export function directTarget(settings: Settings): ConnectionTarget {
  if (settings.databaseDirectUrl === settings.databaseUrl) return usualTarget(settings);
  return targetAt('databaseDirectUrl', settings, 'session');
}

/** @throws InvalidSettings if pg cannot use the URL: mostly because of an unreadable file that it names */
function targetAt(
  key: 'databaseUrl' | 'databaseDirectUrl',
  settings: Settings,
  pooler: ConnectionTarget['pooler'],
): ConnectionTarget {
  const { name, parser } = settingsTable[key];
  const file = settings.secretFiles.get(name);
  const secret = currentSecret(file, parser, settings[key]!, (line) => logger.warn(line));
  try {
    return targetOf(() => secret.now(), pooler);
  } catch (error) {
    throw new InvalidSettings([`${name}: cannot be used: ${errorMessage(error)}`]);
  }
}

/**
 * Returns a target that reads the URL, and the files that it names (`sslrootcert`), for each new client. The
 * constructor never throws, because pg's pool does not catch that; it then uses the last valid URL.
 * @throws if the URL or a file is invalid now
 */
export function targetOf(url: () => string, pooler: ConnectionTarget['pooler']): ConnectionTarget {
  let config = connectionConfig(url());
  let warned: string | undefined;
  function current(): ClientConfig {
    try {
      config = connectionConfig(url());
      warned = undefined;
    } catch (error) {
      const reason = errorMessage(error);
      if (reason !== warned)
        logger.warn(`The database's URL cannot be used now, so the last one is: ${reason}`);
      warned = reason;
    }
    return config;
  }
  const Limited = limited(pooler === 'session' ? SessionClient : Client);
  class ClientOfUrl extends Limited {
    constructor(options?: string | ClientConfig) {
      super({ ...(typeof options === 'object' && options), ...current() });
    }
  }
  return { Client: ClientOfUrl, pooler };
}

/** Reads the files that the URL names. @throws if one is unreadable */
export function connectionConfig(url: string): ClientConfig {
  const isCompatible = /[?&]uselibpqcompat=true(?:&|$)/.test(url);
  return parseIntoClientConfig(isCompatible ? url : url.replace(STRICT_MODE, '$1verify-full'));
}
