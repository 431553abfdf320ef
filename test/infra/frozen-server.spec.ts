import { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { BoundedPool } from '../../src/database/pool/bounded-pool.js';
import { clientFor } from '../../src/database/pool/client.js';
import { dataSourceOptions } from '../../src/database/pool/data-source.js';
import { createEmptyDatabase } from '../support/database.js';
import { isFull } from '../support/faults.js';
import { needs } from '../support/installed.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/waiting.js';

const SIZE = 2;

/** It takes 6 s. What a server that answers does: test/database/given-up.spec.ts. */
needs({ 'npm run test:infra in full': isFull }).it(
  'connections to a server that never answers are given up after 5 s, and new ones made',
  async () => {
    const database = await createEmptyDatabase();
    const lost = await TcpProxy.before(database.url);
    const url = new URL(database.url);
    url.port = String(lost.port);
    let address = url.href;
    const way = { Client: clientFor(() => address), pooler: 'session' } as const;
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
      expect(milliseconds).toBeGreaterThan(3000);
      expect(milliseconds).toBeLessThan(6500);
    } finally {
      await dataSource.destroy();
      await lost.refuse();
      await database.drop();
    }
  },
);

/** It takes 6 s. Such a server takes our farewell, too, and never closes its side. */
needs({ 'npm run test:infra in full': isFull }).it(
  'connections that end while the server is frozen count for 5 s, and then no more',
  async () => {
    const database = await createEmptyDatabase();
    const options = dataSourceOptions(database.url, SIZE);
    const extra: object = { ...options.extra, idleTimeoutMillis: 100 };
    const dataSource = await new DataSource({ ...options, extra }).initialize();
    const pool = (dataSource.driver as PostgresDriver).master as BoundedPool;
    const own = 'SELECT pg_backend_pid() AS pid, pg_sleep(0.05)';
    const answers = await Promise.all([1, 2].map(() => pool.query<{ pid: number }>(own)));
    const pids = answers.map(({ rows }) => rows[0]!.pid);
    try {
      for (const pid of pids) process.kill(pid, 'SIGSTOP');
      await until(() => pool.totalCount === 0);
      await expect(pool.query('SELECT 1')).rejects.toThrow('timeout exceeded');
      const began = performance.now();
      await until(() =>
        pool.query('SELECT 1').then(
          () => true,
          () => false,
        ),
      );
      expect(performance.now() - began).toBeLessThan(5500);
      const both = pool.query('SELECT pg_sleep(0.05)');
      await pool.query('SELECT 1');
      await both;
      expect(pool.options.max).toBe(SIZE);
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
      await dataSource.destroy();
      await database.drop();
    }
  },
  15_000,
);
