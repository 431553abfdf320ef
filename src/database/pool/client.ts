import { Logger } from '@nestjs/common';
import { Client, type ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { errorMessage } from '../statements/error-facts.js';
import { limited } from './limited-client.js';
import { SessionClient } from './session-settings.js';

/** A subclass of pg's client that knows its address. */
export type DatabaseClient = typeof Client;

const logger = new Logger('Database');

// pg 8 treats these as verify-full, with a warning that pg 9 will not.
const STRICT_MODE = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/;

/**
 * Returns a client class that reads the URL, and the files that it names (`sslrootcert`), for each new client. Its constructor
 * never throws, because pg's pool does not catch that; it then uses the last valid URL.
 *
 * @param url never throws
 * @param pooler `session`: each connection sets what the service relies on (session-settings.ts)
 * @throws if the URL or a file is invalid now
 */
export function clientFor(
  url: () => string,
  pooler: 'session' | 'transaction' = 'transaction',
): DatabaseClient {
  let config = configOf(url());
  let warned: string | undefined;
  function current(): ClientConfig {
    try {
      config = configOf(url());
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
  return class ClientOfUrl extends Limited {
    constructor(options?: string | ClientConfig) {
      super({ ...(typeof options === 'object' && options), ...current() });
    }
  };
}

function configOf(url: string): ClientConfig {
  const isCompatible = /[?&]uselibpqcompat=true(?:&|$)/.test(url);
  return parseIntoClientConfig(isCompatible ? url : url.replace(STRICT_MODE, '$1verify-full'));
}
