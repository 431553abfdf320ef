import { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { BoundedPool } from '../../src/database/pool/bounded-pool.js';
import { targetOf } from '../../src/database/pool/connection-target.js';
import { dataSourceOptions } from '../../src/database/pool/data-source.js';
import { createEmptyDatabase } from '../support/database.js';
import { isFull } from '../support/faults.js';
import { needs } from '../support/installed.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/waiting.js';

const SIZE = 2;

/** What a server that answers does: test/database/given-up.spec.ts. */
needs({ 'npm run test:infra in full': isFull }).it(
  'connections to a server that never answers are given up, and new ones are made at once',
  async () => {
    const database = await createEmptyDatabase();
    const lost = await TcpProxy.before(database.url);
    const url = new URL(database.url);
    url.port = String(lost.port);
    let address = url.href;
    const way = targetOf(() => address, 'session');
    const dataSource = await new DataSource(dataSourceOptions(way, SIZE)).initialize();
    try {
      const pool = (dataSource.driver as PostgresDriver).master as BoundedPool;
      const all = (seconds: number): Promise<unknown>[] =>
        Array.from({ length: SIZE }, () => pool.query('SELECT pg_sleep($1)', [seconds]));
      await Promise.all(all(0.1));
      lost.blackhole();
      expect((await Promise.allSettled(all(60))).map(({ status }) => status)).toEqual([
        'rejected',
        'rejected',
      ]);
      const began = performance.now();
      address = database.url; // as when a name leads to another server
      await until(() =>
        pool.query('SELECT 1').then(
          () => true,
          () => false,
        ),
      );
      const milliseconds = performance.now() - began;
      expect(milliseconds).toBeLessThan(3000);
    } finally {
      await dataSource.destroy();
      await lost.refuse();
      await database.drop();
    }
  },
);
