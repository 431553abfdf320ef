import { Logger } from '@nestjs/common';
import { Client, type ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import { errorMessage } from '../statements/error-facts.js';
import { limited } from './limited-client.js';
import { SessionClient } from './session-settings.js';

/** pg's client, made for one database: `new` needs no address. */
export type DatabaseClient = typeof Client;

const logger = new Logger('Database');

// As strict as pg takes them already; written out, they stay so in pg 9, and pg has no warning to print.
const STRICT_MODE = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/;

/**
 * Each client connects to where the URL leads when it is made, with what the files hold then that the URL names (`sslrootcert`).
 *
 * @param url never throws
 * @param pooler in `session` mode, or if there is none, each connection sets what the service relies on (session-settings.ts)
 * @returns a class whose constructor never throws, since pg's pool makes clients where nobody would catch that
 * @throws what is wrong with the URL as it is now, or with those files
 */
export function clientFor(
  url: () => string,
  pooler: 'session' | 'transaction' = 'transaction',
): DatabaseClient {
  let good = configOf(url());
  let told: string | undefined;
  function current(): ClientConfig {
    try {
      good = configOf(url());
      told = undefined;
    } catch (error) {
      const reason = errorMessage(error);
      if (reason !== told)
        logger.warn(`The database's URL cannot be used now, so the last one is: ${reason}`);
      told = reason;
    }
    return good;
  }
  const Limited = limited(pooler === 'session' ? SessionClient : Client);
  return class ClientOfUrl extends Limited {
    constructor(config?: string | ClientConfig) {
      super({ ...(typeof config === 'object' && config), ...current() });
    }
  };
}

/** What is left out is for pg to find: `PGUSER`, `PGPASSWORD` and their kin, or the defaults of PostgreSQL. */
function configOf(url: string): ClientConfig {
  const isCompatible = /[?&]uselibpqcompat=true(?:&|$)/.test(url);
  return parseIntoClientConfig(isCompatible ? url : url.replace(STRICT_MODE, '$1verify-full'));
}
