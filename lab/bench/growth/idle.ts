import { setTimeout as delay } from 'node:timers/promises';
import { cpuTime } from '../cpu-time.js';
import { startLatchkey } from '../latchkey-target.js';
import { align } from '../report.js';
import { residentMemory } from '../resident-memory.js';
import { signInUsers, SocketClients } from '../socket-clients.js';
import { SOCKETS_A_USER } from '../sockets.js';
import type { Measured } from '../turn.js';
import { newDatabase, type GrowthBench } from './place.js';

const SETTLE_MS = 10_000;
const WATCHED_S = 60;
const IDLE_SOCKETS = 2000;

export async function measureIdle(bench: GrowthBench): Promise<void> {
  const { options, report, cleanup, providerUrl } = bench;
  const { url } = await newDatabase(bench, 'idle');
  const service = await startLatchkey(url, providerUrl, options.logLevel, cleanup);
  const without = await watch(service, 'no sockets');
  const clients = new SocketClients(cleanup);
  const users = await signInUsers(service.port, IDLE_SOCKETS / SOCKETS_A_USER);
  await clients.ask({ do: 'connect', port: service.port, users, each: SOCKETS_A_USER });
  const open = await watch(service, `${IDLE_SOCKETS} sockets`);
  await clients.ask({ do: 'close' });
  const head = ['idle service', 'MiB', `CPU s in ${WATCHED_S} s`, '% of a core'];
  report.add('idle', align([head, without, open]), 'one turn each');
}

async function watch({ pid }: Measured, label: string): Promise<string[]> {
  await delay(SETTLE_MS);
  const before = cpuTime(pid) ?? NaN;
  await delay(WATCHED_S * 1000);
  const seconds = ((cpuTime(pid) ?? NaN) - before) / 1e6;
  const mebibytes = residentMemory(pid) / 1024;
  return [label, mebibytes.toFixed(0), seconds.toFixed(2), ((100 * seconds) / WATCHED_S).toFixed(1)];
}
