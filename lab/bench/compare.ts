import type { Client } from 'pg';
import { ask, nextMessage, startChild } from './child.js';
import type { Cleanup } from './cleanup.js';
import { startDatabase } from './database.js';
import { fill, type KnownSessions } from './fill.js';
import type { FloorSettings } from './floors/floor.js';
import { startLatchkey } from './latchkey-target.js';
import type { LoadOrder, Work } from './load/generator.js';
import type { LoadResult } from './load/run.js';
import { getRequest, postForm, postRequest } from './load/script.js';
import { SERVICE_KEY } from './names.js';
import type { HttpWorkload, Options } from './options.js';
import { printHeading, printTable } from './report.js';
import { compareSockets } from './sockets.js';
import { interleave, measure, type Measured } from './turn.js';

const JIT_WARM_UP_MS = 1500;
/** Access tokens that W2 verifies in turn. */
export const VERIFIED = 1024;
/** Target of W2F beside forward auth. */
const INTROSPECTION = 'introspection';

interface HttpPlan {
  readonly title: string;
  readonly connections: readonly number[];
  readonly floors: readonly FloorSettings['kind'][];
}

const PLANS: Readonly<Record<HttpWorkload, HttpPlan>> = {
  W1: { title: 'W1 refresh', connections: [1, 16, 64], floors: ['batch'] },
  W1P: { title: 'W1P refresh with a proof', connections: [16, 64], floors: ['proof'] },
  W2: { title: 'W2 verify a token', connections: [16, 64], floors: ['batch'] },
  W2F: { title: 'W2F forward auth', connections: [16, 64], floors: [] },
  W3: { title: 'W3 whole sign-in', connections: [16, 64], floors: ['one'] },
};

export async function compareWithFloors(options: Options, cleanup: Cleanup): Promise<void> {
  console.log(`Filling a database of its own with ${options.sessions} sessions …`);
  const { url, admin, pid } = await startDatabase(cleanup);
  const known = await fill(admin, url, options.sessions);
  const providerUrl = await startStubProvider(cleanup);
  const floors = await startFloors(url, providerUrl, cleanup);
  const latchkey = await startLatchkey(url, providerUrl, cleanup);
  const generator = startChild('./load/generator.js', cleanup);
  const generate = (order: LoadOrder) => ask<LoadResult>(generator, order);
  await printHeading(HEADING, options, admin);
  for (const workload of options.workloads) {
    if (workload === 'W4' || workload === 'W4B') {
      await compareSockets(options, workload, url, providerUrl, cleanup);
      continue;
    }
    await sweep(admin);
    const plan = PLANS[workload];
    const yardsticks =
      workload === 'W2F'
        ? [{ ...latchkey, name: INTROSPECTION }]
        : plan.floors.map((kind) => floors.get(kind)!);
    const targets = [...yardsticks, latchkey];
    for (const { name, port } of targets) {
      await generate({ learn: name, work: await workOf(workload, known, port, name) });
      await generate({ run: name, port, connections: 16, milliseconds: JIT_WARM_UP_MS });
    }
    for (const connections of options.connections ?? plan.connections) {
      const turn = {
        databasePid: pid,
        seconds: options.seconds,
        tidy: async () => (workload.startsWith('W2') ? void (await admin.query('CHECKPOINT')) : sweep(admin)),
        run: ({ name, port }: Measured, milliseconds: number) =>
          generate({ run: name, port, connections, milliseconds }),
      };
      const turns = await interleave(targets, options.rounds, (target) => measure(target, turn));
      printTable(
        plan.title,
        connections,
        yardsticks.map(({ name }) => name),
        turns,
      );
    }
  }
}

async function workOf(
  workload: HttpWorkload,
  known: KnownSessions,
  port: number,
  target: string,
): Promise<Work> {
  if (workload === 'W1') return refreshes(known);
  if (workload === 'W1P') return { refreshesOf: known.boundSessions };
  if (workload === 'W3') return { signInAt: 'latchkey' };
  const tokens = await accessTokens(port, known.refreshTokens.slice(0, VERIFIED));
  return workload === 'W2' || target === INTROSPECTION ? introspections(tokens) : forwardAuths(tokens);
}

function forwardAuths(tokens: readonly string[]): Work {
  const requests = tokens.map((token) =>
    String(getRequest('/forward-auth', `Authorization: Bearer ${token}\r\n`)),
  );
  return { requests, mark: '' }; // the status says it
}

export function introspections(tokens: readonly string[]): Work {
  const headers = `Authorization: Bearer ${SERVICE_KEY}\r\n`;
  const requests = tokens.map((token) => String(postForm('/oauth2/introspect', { token }, headers)));
  return { requests, mark: '"active":true' };
}

export function refreshes({ refreshTokens }: Pick<KnownSessions, 'refreshTokens'>): Work {
  const requests = refreshTokens.map((refresh_token) =>
    String(postRequest('/oauth2/refresh', { refresh_token })),
  );
  return { requests, mark: '"access_token":"ey' };
}

/** By a refresh each. */
export async function accessTokens(port: number, refreshTokens: readonly string[]): Promise<string[]> {
  const tokens: string[] = [];
  for (const refresh_token of refreshTokens) {
    const answer = await fetch(`http://127.0.0.1:${port}/oauth2/refresh`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ refresh_token }),
    });
    tokens.push(((await answer.json()) as { access_token: string }).access_token);
  }
  return tokens;
}

async function startFloors(
  databaseUrl: string,
  providerUrl: string,
  cleanup: Cleanup,
): Promise<Map<FloorSettings['kind'], Measured>> {
  const floors = new Map<FloorSettings['kind'], Measured>();
  for (const kind of ['one', 'batch', 'proof'] as const) {
    const child = startChild('./floors/floor.js', cleanup);
    const settings: FloorSettings = { kind, databaseUrl, providerUrl };
    child.send(settings); // not as an argument: it holds a password
    floors.set(kind, { name: `floor-${kind}`, pid: child.pid!, port: await nextMessage<number>(child) });
  }
  return floors;
}

/** @returns its base address */
export async function startStubProvider(cleanup: Cleanup): Promise<string> {
  const child = startChild('./stub-provider.js', cleanup);
  return `http://127.0.0.1:${await nextMessage<number>(child)}`;
}

/** Removes what earlier turns stored, and does the maintenance that this causes. */
async function sweep(admin: Client): Promise<void> {
  await admin.query(`
    TRUNCATE access_tokens, authorization_states, floor.access_tokens, floor.authorization_states`);
  await admin.query('VACUUM users, devices, floor.users, floor.devices');
  await admin.query('CHECKPOINT');
}

const HEADING = `All targets take turns. A floor is the same work without a framework: node:http, pg with named statements, node:crypto
(one: a single statement; batch: one statement for all that arrive together;
proof: like batch, and each request's proof is verified). latchkey is the compiled service, RATE_LIMIT=off.`;
