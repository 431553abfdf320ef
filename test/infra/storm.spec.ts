import type { ChildProcess } from 'node:child_process';
import { setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { createDatabase, type TestDatabase, query } from '../support/database.js';
import { needs } from '../support/installed.js';
import { startServiceProcess, type ServiceProcess } from '../support/service-process.js';
import {
  ask,
  descriptorLimit,
  insertSessions,
  pin,
  quantile,
  startBeside,
  usage,
  type Refresh,
  StormCrowd,
} from '../support/storm.js';

const SPARE = 300; // of the descriptors: for the database, refreshes, and sockets that are still closing
const SOCKETS = Math.min(20_000, Math.floor((descriptorLimit() * 15) / 16) - SPARE); // src/http/server/open-files.ts
const REFRESHES_A_SECOND = 200;
const QUIET_MS = 10_000;
const LONGEST_STORM_MS = 120_000;
const PRESENCE_MS = 5000;

const full = process.env['INFRA'] === '1';

/** After a restart of one instance, all of its sockets come to another, which serves refreshes at that time. */
needs({ 'npm run test:infra in full': full }).describe('a storm of reconnects', () => {
  let database: TestDatabase;
  let leaving: ServiceProcess;
  let serving: ServiceProcess;
  const children: ChildProcess[] = [];
  let crowd: StormCrowd | undefined;
  let refreshTokens: string[];

  beforeAll(async () => {
    database = await createDatabase();
    const env = {
      DATABASE_URL: database.url,
      HOST: '0.0.0.0', // clients come to several addresses of the machine (storm-clients.mjs)
      PUBLIC_URL: 'http://localhost:3000',
      TRUST_PROXY: 'loopback',
      LOG_LEVEL: 'warn',
      DEMO_ENABLED: 'false',
    };
    refreshTokens = await insertSessions(database.url, SOCKETS);
    leaving = await start({ ...env, LOG_LEVEL: 'info' }, 1);
    serving = await start({ ...env, LOG_LEVEL: 'info' }, 0);
  });
  afterAll(async () => {
    for (const child of children) child.kill();
    crowd?.close();
    await Promise.all([leaving?.end('SIGKILL'), serving?.end('SIGKILL')]);
    await database?.drop();
  });

  async function start(env: Record<string, string>, processor: number): Promise<ServiceProcess> {
    const service = await startServiceProcess(env);
    pin(service.child.pid!, String(processor));
    return service;
  }

  const portOf = ({ url }: ServiceProcess): number => Number(new URL(url).port);
  function beside(script: string, isLast: boolean): ChildProcess {
    const child = startBeside(script, isLast);
    children.push(child);
    return child;
  }

  async function accessTokens(): Promise<string[]> {
    const tokens: string[] = [];
    let next = 0;
    const one = async (): Promise<void> => {
      for (let i = next++; i < refreshTokens.length; i = next++) {
        const response = await fetch(`${leaving.url}/oauth2/refresh`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ refresh_token: refreshTokens[i] }),
        });
        tokens[i] = ((await response.json()) as { access_token: string }).access_token;
      }
    };
    await Promise.all(Array.from({ length: 64 }, one));
    return tokens;
  }

  it(
    'no refresh fails, everybody is back at the first attempt, and online',
    async () => {
      const tokens = await accessTokens();
      crowd = new StormCrowd(tokens);
      // All are connected to the instance that will leave.
      const connecting = performance.now();
      await crowd.connect(portOf(leaving));
      const paced = performance.now() - connecting;

      const load = beside('./storm-refreshes.mjs', false);
      load.send({
        do: 'start',
        port: portOf(serving),
        tokens: refreshTokens.slice(0, 2000),
        perSecond: REFRESHES_A_SECOND,
      });
      await delay(3000);
      await ask(load, { do: 'report' }); // the first ones warm the code
      await delay(QUIET_MS);
      const before = await ask<Refresh[]>(load, { do: 'report' });

      crowd.forget();
      crowd.target(portOf(serving));
      const [pid, began] = [serving.child.pid!, performance.now()];
      const used = usage(pid);
      let leftAfter = 0;
      setPriority(leaving.child.pid!, 19);
      const left = leaving.end('SIGTERM').then((code) => {
        leftAfter = performance.now() - began;
        return code;
      });
      await delay(500);
      const curve: number[] = [];
      const watching = setInterval(() => void crowd!.counts().then(({ ready }) => curve.push(ready)), 1000);
      await crowd.untilReady();
      clearInterval(watching);
      const took = performance.now() - began;
      const usedThen = usage(pid);
      const during = await ask<Refresh[]>(load, { do: 'report' });
      const code = await left;
      await delay(PRESENCE_MS);
      const [online] = await query(
        database.url,
        `SELECT count(*)::int AS rows, count(DISTINCT user_id)::int AS users, count(DISTINCT instance_id)::int AS instances FROM presence`,
      );
      await ask(load, { do: 'report' });
      await delay(QUIET_MS);
      const after = await ask<Refresh[]>(load, { do: 'report' });
      const counts = await crowd.counts();

      const p = (refreshes: Refresh[], isNew: boolean) => {
        const times = refreshes.filter((one) => one[3] === isNew).map(([, ms]) => ms);
        return [0.5, 0.95, 0.99, 1].map((q) => quantile(times, q).toFixed(1)).join(' / ');
      };
      const failed = (refreshes: Refresh[]) => refreshes.filter(([, , status]) => status !== 200).length;
      process.stdout.write(
        `${SOCKETS} sockets; paced ${(paced / 1000).toFixed(1)} s; all back after ${(took / 1000).toFixed(1)} s; ` +
          `the other stopped in ${(leftAfter / 1000).toFixed(1)} s (${code})\n` +
          [
            ['before', before],
            ['during', during],
            ['after', after],
          ]
            .map(([name, list]) => {
              const refreshes = list as Refresh[];
              return `  ${name as string}: ${refreshes.length} refreshes, ${failed(refreshes)} failed, p50/95/99/max ms kept ${p(refreshes, false)}; new connection ${p(refreshes, true)}; sent late p99 ${quantile(
                refreshes.map((one) => one[4]),
                0.99,
              ).toFixed(1)}\n`;
            })
            .join('') +
          `  service: ${(usedThen.cpu - used.cpu).toFixed(1)} s CPU, waited ${(usedThen.waited - used.waited).toFixed(2)} s for it; ` +
          `${used.memory.toFixed(0)} → ${usedThen.memory.toFixed(0)} MiB, ${(((usedThen.memory - used.memory) * 1024) / SOCKETS).toFixed(1)} KiB a socket\n` +
          `  ${JSON.stringify(counts)} presence ${JSON.stringify(online)}\n  ready each second: ${curve.join(' ')}\n`,
      );
      // p99 of each second
      const first = during[0]![0];
      const seconds: number[][] = [];
      for (const [due, ms, , isNew] of during)
        if (!isNew) (seconds[Math.floor((due - first) / 1000)] ??= []).push(ms);
      process.stdout.write(
        `  p50/p99/max each second: ${seconds.map((one) => `${quantile(one, 0.5).toFixed(0)}/${quantile(one, 0.99).toFixed(0)}/${quantile(one, 1).toFixed(0)}`).join(' ')}\n`,
      );
      expect([failed(during), code, counts.refusals]).toEqual([0, 0, {}]);
      expect(online).toMatchObject({ rows: SOCKETS, users: SOCKETS, instances: 1 });
    },
    LONGEST_STORM_MS * 3,
  );
});
