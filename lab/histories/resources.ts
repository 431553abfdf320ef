import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { query } from '../../test/support/database.js';
import { Scrape } from '../../test/support/scrape.js';
import type { Instance } from '../world/instance.js';
import type { World } from '../world/world.js';
import type { Rows, Sample } from './operation.js';
import type { Recorder } from './recorder.js';

const SAMPLES = 20;
/** Within this time an instance notices that its last clients are gone. */
const CLOSED_WITHIN_MS = 5000;

/** Records what each instance uses. */
export async function sample(world: World, recorder: Recorder, when: Sample['when']): Promise<void> {
  for (const [i, instance] of world.instances.entries()) recorder.record(await sampleOf(instance, i, when));
}

/** Records samples until `end`, of a part in which instances run without a fault. */
export async function sampleUntil(end: number, world: World, recorder: Recorder): Promise<void> {
  const pauseMs = (end - performance.now()) / SAMPLES;
  while (performance.now() < end) {
    await sample(world, recorder, 'level');
    await delay(Math.max(0, pauseMs));
  }
}

/** Records what is left after the last client: as soon as all sockets are closed, or after some seconds. */
export async function sampleEnd(world: World, recorder: Recorder): Promise<void> {
  const end = performance.now() + CLOSED_WITHIN_MS;
  for (const [i, instance] of world.instances.entries()) {
    const idle = recorder.entries.find((one) => one.kind === 'sample' && one.instance === i) as Sample;
    let found = await sampleOf(instance, i, 'end');
    while ((found.sockets > 0 || found.files > idle.files) && performance.now() < end) {
      await delay(100);
      found = await sampleOf(instance, i, 'end');
    }
    recorder.record(found);
  }
  const begun = performance.now();
  const [rows] = await query<Omit<Rows, 'kind' | 'begun' | 'ended'> & Record<string, number>>(
    world.databaseUrl(),
    `SELECT (SELECT count(*)::int FROM refresh_tokens WHERE signed_out_at IS NULL) AS open_sessions,
       (SELECT count(*)::int FROM access_tokens) AS access_tokens,
       (SELECT count(*)::int FROM devices) AS devices`,
  );
  recorder.record({ kind: 'rows', ...rows!, begun, ended: performance.now() });
}

async function sampleOf({ url, pid }: Instance, instance: number, when: Sample['when']): Promise<Sample> {
  const begun = performance.now();
  const scrape = new Scrape(
    await (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text(),
  );
  const memory = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
  const files = readdirSync(`/proc/${pid}/fd`).length;
  const sockets = scrape.sum('latchkey_sockets') ?? 0;
  return { kind: 'sample', when, instance, pid, memory, files, sockets, begun, ended: performance.now() };
}
