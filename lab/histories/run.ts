import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { createVerifier } from '../../packages/server/src/index.js';
import { query } from '../../test/support/database.js';
import { Random } from '../../test/support/random.js';
import { API } from '../../test/support/agent.js';
import { strike, type FaultName } from '../world/faults.js';
import { ISSUER, type World } from '../world/world.js';
import { Assistant } from './agents/assistant.js';
import { Calls } from './calls.js';
import type { Shared } from './client.js';
import { Couples } from './couples.js';
import { FeedReader } from './feed-reader.js';
import { lookAtEverything } from './final-look.js';
import { changeKeys } from './keys-operator.js';
import { Ledger } from './ledger.js';
import type { Limits } from './limits.js';
import { redeemOnce } from './one-time-codes.js';
import { recordPauses } from './pauses.js';
import { Person } from './person.js';
import type { Plant } from './plants.js';
import type { Recorder } from './recorder.js';
import { sample, sampleEnd, sampleUntil } from './resources.js';

/** After the last fault and the last call, readers have what they are still to get. */
const LAST_MS = 3500;
/** Waits for the standby, as every commit does. */
const COMMIT = `SELECT pg_logical_emit_message(true, 'lab', '')`;

export interface RunOptions {
  readonly seed: number;
  readonly people: number;
  /** Of how many users they are the clients. */
  readonly users: number;
  /** Between two things that one of them does, on average, in milliseconds. */
  readonly pauseMs: number;
  /** In order; spread over the time. */
  readonly faults: readonly FaultName[];
  readonly seconds: number;
  /** Seconds after the last fault, in which memory and open files must not grow. */
  readonly level: number;
  /** How many at a time become one user; none, unless it is given. */
  readonly couples?: number;
  /** How many users have a program that acts for them; none, unless it is given. */
  readonly programs?: number;
  /** Which the service has; clients then report how long they were not used. */
  readonly limits?: Limits;
}

/** Lets people use a world while a nemesis breaks it, and records all of it; at the end it looks for what was acknowledged. */
export async function runHistory(
  world: World,
  recorder: Recorder,
  options: RunOptions,
  plant?: Plant,
): Promise<void> {
  const { pauseMs, seconds, level, seed } = options;
  await sample(world, recorder, 'idle');
  const endPauses = recordPauses(recorder, () => query(world.databaseUrl(), COMMIT));
  const calls = new Calls(world.urls, plant?.lie);
  const verifiers = [world.urls[0]!, `http://127.0.0.1:${world.feed.port}`].map((url) =>
    createVerifier({
      issuer: ISSUER,
      audience: [ISSUER, API],
      url,
      serviceKey: world.serviceKey,
      onWarning: () => undefined,
    }),
  );
  const shared = { calls, recorder, ledger: new Ledger(), serviceKey: world.serviceKey, verifiers };
  redeemOnce(world.provider, recorder);
  const people = gather(options, shared, world.urls);
  const couples = Array.from({ length: options.couples ?? 0 }, (_, i) => {
    return new Couples(shared, { name: `c${i}`, urls: world.urls, seed: seed + 100 * (i + 1) });
  });
  const readers = world.urls.map((_, i) => new FeedReader(`feed ${i}`, i, world.urls, shared, plant?.drops));
  const listening = readers.map((reader) => reader.run());
  try {
    await Promise.all(people.map((person) => person.begin()));
    while (!verifiers.every(({ isNotified }) => isNotified)) await delay(20);
    listening.push(...people.map(({ listener }) => listener.run()));
    let isOver = false;
    const assistants = allow(options, shared, world.urls, people);
    const running = [...people, ...couples, ...assistants].map((one) => one.run(() => isOver, pauseMs));
    try {
      const end = performance.now() + seconds * 1000;
      await Promise.all([breakThings(world, recorder, options, end), changeKeys(world, shared)]);
      while (performance.now() < end) await delay(50);
      await sampleUntil(performance.now() + level * 1000, world, recorder);
    } finally {
      isOver = true;
      await Promise.all(running);
    }
    await Promise.all([world.healthy(), delay(LAST_MS)]);
    await lookAtEverything(
      shared,
      people,
      couples.flatMap(({ parties }) => parties),
      world.databaseUrl(),
    );
  } finally {
    for (const { listener } of people) listener.stop();
    await Promise.all(couples.map((one) => one.stop()));
    for (const one of readers) one.stop();
    for (const verifier of verifiers) verifier.close();
    await Promise.all([...listening, endPauses()]);
    await calls.close();
  }
  await sampleEnd(world, recorder);
}

function gather(
  { people, users, seed, limits }: RunOptions,
  shared: Shared,
  urls: readonly string[],
): Person[] {
  return Array.from({ length: people }, (_, i) => {
    const device = i % 7 === 6 ? null : randomUUID();
    const account = `user-${seed}-${i % users}`;
    const own = { name: `p${i}`, account, device, seed: seed + 1000 * (i + 1), limits };
    return new Person({ ...shared, urls, ...own });
  });
}

/** The first people are of different users. */
function allow(
  { programs = 0, seed }: RunOptions,
  shared: Shared,
  urls: readonly string[],
  people: readonly Person[],
): Assistant[] {
  const allowing = people.slice(0, programs);
  const users = allowing.map(({ user }) => user);
  return allowing.map(({ user, account }, i) => {
    return new Assistant(shared, { name: `a${i}`, account, user, users, urls, seed: seed + 50 * (i + 1) });
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
    await delay(Math.max(0, left - (performance.now() - began)));
  }
}
