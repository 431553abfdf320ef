import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { hashRefreshToken, makeRefreshToken } from '../../src/token/refresh/refresh-token.js';

const ROWS_AT_ONCE = 5000;
/** Looked at once: a process that is kept on one of them sees no other. */
const PROCESSORS = availableParallelism();
const LAST_PROCESSOR = PROCESSORS - 1;
/** All but the service's, which is the first one. */
const OTHER_PROCESSORS = `1-${LAST_PROCESSOR}`;

/** When it was due (ms since the epoch), ms until its answer, status (0: none), whether on a new connection, ms sent too late, failure. */
export type Refresh = [
  due: number,
  milliseconds: number,
  status: number,
  isNew: boolean,
  late: number,
  why: string,
];

export interface StormCounts {
  readonly ready: number;
  readonly attempts: number;
  readonly refused: number;
  readonly cut: number;
  readonly late: number;
  readonly told: number;
  readonly refusals: Readonly<Record<string, number>>;
}

/** Inserts sessions of as many users. @returns their refresh tokens */
export async function insertSessions(databaseUrl: string, count: number): Promise<string[]> {
  const client = new Client(databaseUrl);
  await client.connect();
  try {
    const tokens: string[] = [];
    while (tokens.length < count) {
      const sessions = Array.from({ length: Math.min(ROWS_AT_ONCE, count - tokens.length) }, () => ({
        userId: randomUUID(),
        sessionId: randomUUID(),
        deviceId: randomUUID(),
      }));
      const made = sessions.map((session) => makeRefreshToken(session));
      await client.query(
        `INSERT INTO refresh_tokens (user_id, session_id, device_id, token_hash, expires_at)
         SELECT *, now() + interval '30 days' FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bytea[])`,
        [
          sessions.map(({ userId }) => userId),
          sessions.map(({ sessionId }) => sessionId),
          sessions.map(({ deviceId }) => deviceId),
          made.map((token) => hashRefreshToken(token)),
        ],
      );
      tokens.push(...made);
    }
    await client.query('VACUUM (ANALYZE)');
    return tokens;
  } finally {
    await client.end();
  }
}

/** A script of this directory as a process on another processor than the service's, optionally with low priority. */
export function startBeside(script: string, isLast: boolean): ChildProcess {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const command = [...(isLast ? ['nice', '-n', '19'] : []), process.execPath, path];
  const child = spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  pin(child.pid!, OTHER_PROCESSORS);
  return child;
}

/**
 * Keeps a process, or its main thread, on some processors.
 * @param processors as `taskset -c` takes them: `0`, or `1-3`
 * @returns false with one processor, or without `taskset`
 */
export function pin(pid: number, processors: string, { mainThreadOnly = false } = {}): boolean {
  return PROCESSORS > 1 && keepOn(processors, pid, mainThreadOnly ? [] : ['-a']);
}

function keepOn(processors: string, pid: number, threads: string[]): boolean {
  try {
    execFileSync('taskset', [...threads, '-c', '-p', processors, String(pid)], { stdio: 'ignore' });
    return true;
  } catch {
    return false; // then processes share them as they come
  }
}

export async function ask<Answer>(child: ChildProcess, order: object): Promise<Answer> {
  const answered = once(child, 'message');
  child.send(order);
  const [answer] = (await answered) as [Answer];
  return answer;
}

/** What the kernel says of a process: seconds on a processor, seconds that it waited for one, MiB of memory. */
export function usage(pid: number): { cpu: number; waited: number; memory: number } {
  const [ran, waited] = readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ').map(Number);
  const resident = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  return { cpu: ran! / 1e9, waited: waited! / 1e9, memory: Number(resident) / 1024 };
}

/** The soft limit of open files that this process and its children have. */
export function descriptorLimit(): number {
  const { userLimits } = process.report.getReport() as unknown as {
    userLimits: { open_files: { soft: number | 'unlimited' } };
  };
  const { soft } = userLimits.open_files;
  return soft === 'unlimited' ? Infinity : soft;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

const PROCESSES = 2;
const LONGEST_STORM_MS = 120_000;

/** Many sockets that reconnect (storm-clients.mjs), in processes of low priority. */
export class StormCrowd {
  private readonly children = Array.from({ length: PROCESSES }, () =>
    startBeside('./storm-clients.mjs', true),
  );

  /** @param tokens one for each socket */
  constructor(private readonly tokens: readonly string[]) {}

  /** Resolves when all are connected, some at a time, to a port. */
  async connect(port: number, atOnce = 50): Promise<void> {
    this.target(port);
    const share = Math.ceil(this.tokens.length / PROCESSES);
    this.children.forEach((one, i) => {
      const from = i * share;
      one.send({ do: 'connect', from, tokens: this.tokens.slice(from, from + share), atOnce });
    });
    await this.untilReady();
  }

  /** From now on they come back to this port. */
  target(port: number): void {
    for (const one of this.children) one.send({ do: 'target', port });
  }

  /** Resets the counts, except that of ready sockets. */
  forget(): void {
    for (const one of this.children) one.send({ do: 'forget' });
  }

  async counts(): Promise<StormCounts> {
    const counts = await Promise.all(this.children.map((one) => ask<StormCounts>(one, { do: 'count' })));
    return counts.reduce(sum);
  }

  /** Resolves when all are ready, each after an attempt since `forget`. */
  async untilReady(): Promise<void> {
    const end = performance.now() + LONGEST_STORM_MS;
    for (;;) {
      const { attempts, ready } = await this.counts();
      if (attempts >= this.tokens.length && ready === this.tokens.length) return;
      if (performance.now() > end)
        throw new Error(`not all are back: ${JSON.stringify(await this.counts())}`);
      await delay(50);
    }
  }

  /** Ends all at once. */
  close(): void {
    for (const one of this.children) one.kill();
  }
}

function sum(one: StormCounts, other: StormCounts): StormCounts {
  const refusals = { ...one.refusals };
  for (const [why, count] of Object.entries(other.refusals)) refusals[why] = (refusals[why] ?? 0) + count;
  const { ready, attempts, refused, cut, late, told } = other;
  return {
    ready: one.ready + ready,
    attempts: one.attempts + attempts,
    refused: one.refused + refused,
    cut: one.cut + cut,
    late: one.late + late,
    told: one.told + told,
    refusals,
  };
}
