import { setTimeout as delay } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { strike, type FaultName } from '../world/faults.js';
import type { World } from '../world/world.js';
import { Calls } from './calls.js';
import type { Shared } from './client.js';
import { lookAtEverything } from './final-look.js';
import { changeKeys } from './keys-operator.js';
import { Ledger } from './ledger.js';
import { redeemOnce } from './one-time-codes.js';
import { Person } from './person.js';
import { Random } from '../../test/support/random.js';
import type { Recorder } from './recorder.js';

export interface RunOptions {
  readonly seed: number;
  readonly people: number;
  /** Of how many users they are the clients. */
  readonly users: number;
  /** Between two things that one of them does, on average, in milliseconds. */
  readonly pauseMs: number;
  /** In order; spread over the time. */
  readonly faults: readonly FaultName[];
  /** It lasts so long, and until the faults are done. */
  readonly seconds: number;
  /** And until so many things were done. */
  readonly operations: number;
}

/** Lets people use a world while a nemesis breaks it, and writes all of it down; at the end it looks for what was acknowledged. */
export async function runHistory(world: World, recorder: Recorder, options: RunOptions): Promise<void> {
  const { pauseMs, seconds } = options;
  const calls = new Calls(world.urls);
  const shared = { calls, recorder, ledger: new Ledger(), serviceKey: world.serviceKey };
  redeemOnce(world.provider, recorder);
  const people = gather(options, shared, world.urls);
  const listening: Promise<void>[] = [];
  try {
    await Promise.all(people.map((person) => person.begin()));
    listening.push(...people.map(({ listener }) => listener.run()));
    let isOver = false;
    const running = people.map((person) => person.run(() => isOver, pauseMs));
    try {
      const end = performance.now() + seconds * 1000;
      await Promise.all([breakThings(world, recorder, options, end), changeKeys(world, shared)]);
      while (performance.now() < end || recorder.operations < options.operations) await delay(50);
    } finally {
      isOver = true;
      await Promise.all(running);
    }
    await world.healthy();
    await lookAtEverything(shared, people, world.databaseUrl());
  } finally {
    for (const { listener } of people) listener.stop();
    await Promise.all(listening);
    await calls.close();
  }
}

function gather({ people, users, seed }: RunOptions, shared: Shared, urls: readonly string[]): Person[] {
  return Array.from({ length: people }, (_, i) => {
    const device = i % 7 === 6 ? null : randomUUID();
    const account = `user-${i % users}`;
    return new Person({ ...shared, urls, name: `p${i}`, account, device, seed: seed + 1000 * (i + 1) });
  });
}

async function breakThings(
  world: World,
  recorder: Recorder,
  { faults, seed }: RunOptions,
  end: number,
): Promise<void> {
  const random = new Random(seed);
  for (const [i, fault] of faults.entries()) {
    const left = (end - performance.now()) / (faults.length - i);
    const began = performance.now();
    recorder.record(await strike(world, fault, random));
    const rest = left - (performance.now() - began);
    if (rest > 0) await delay(rest);
  }
}
