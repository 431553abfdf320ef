import { fork, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import { EndedSessions } from '../../src/feed/ended-sessions.js';
import { FakeService, SERVICE_KEY } from '../support/fake-service.js';
import { sessionChecks } from './sessions.js';

/** `npm run bench -w packages/server`: what verifying costs an API, beside `jose` alone; the memory of ended sessions; session checks. */
const [ROUNDS, ROUND_MS, CONNECTIONS, TOKENS] = [10, 2000, 32, 200];

interface Target {
  readonly name: string;
  readonly port: number;
  readonly child: ChildProcess;
}

async function start(name: string, service: FakeService): Promise<Target> {
  const script = fileURLToPath(new URL('./api.ts', import.meta.url));
  const child = fork(script, [name, service.url, SERVICE_KEY], { execArgv: ['--import', 'tsx'] });
  const [port] = (await once(child, 'message')) as [number];
  return { name, port, child };
}

async function cpuOf({ child }: Target): Promise<number> {
  child.send('cpu');
  const [{ user, system }] = (await once(child, 'message')) as [NodeJS.CpuUsage];
  return user + system;
}

/** Requests a second, and µs of CPU for each. */
async function measure(target: Target, tokens: readonly string[]): Promise<{ rate: number; cpu: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const cpuBefore = await cpuOf(target);
  const began = performance.now();
  let done = 0;
  const one = async (): Promise<void> => {
    const headers = { Authorization: `Bearer ${tokens[done++ % tokens.length]}` };
    const call = get({ port: target.port, host: '127.0.0.1', agent, headers });
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    if (response.statusCode !== 200) throw new Error(`${target.name} answered with ${response.statusCode}`);
  };
  const connection = async (): Promise<void> => {
    while (performance.now() - began < ROUND_MS) await one();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  const seconds = (performance.now() - began) / 1000;
  agent.destroy();
  return { rate: done / seconds, cpu: ((await cpuOf(target)) - cpuBefore) / done };
}

const median = (numbers: number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!;

async function compare(): Promise<void> {
  const service = await FakeService.start();
  const tokens = await Promise.all(Array.from({ length: TOKENS }, () => service.token()));
  const [jose, latchkey] = [await start('jose', service), await start('latchkey', service)];
  for (const target of [jose, latchkey]) await measure(target, tokens); // warm
  const [rates, costs]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    const order = round % 2 === 0 ? [jose, latchkey] : [latchkey, jose];
    const seen = new Map<Target, { rate: number; cpu: number }>();
    for (const target of order) seen.set(target, await measure(target, tokens));
    const [theirs, ours] = [seen.get(jose)!, seen.get(latchkey)!];
    rates.push(ours.rate / theirs.rate);
    costs.push(ours.cpu / theirs.cpu);
    const print = ({ rate, cpu }: typeof ours): string => `${rate.toFixed(0)}/s ${cpu.toFixed(0)} µs`;
    console.log(`jose alone ${print(theirs)}; @latchkey/server ${print(ours)}`);
  }
  console.log(
    `throughput, of jose alone: ${median(rates).toFixed(2)}; CPU: ${median(costs).toFixed(2)} (medians of ${ROUNDS})`,
  );
  for (const { child } of [jose, latchkey]) child.disconnect();
  await service.close();
}

function memory(): void {
  const sessions = new EndedSessions();
  const used = (): number => {
    global.gc!();
    return process.memoryUsage().heapUsed;
  };
  const [before, until] = [used(), Date.now() + 3_600_000];
  for (let i = 0; i < 1_000_000; i++) sessions.add(JSON.parse(`"${randomUUID()}"`) as string, until); // as the stream's texts are made
  const bytes = (used() - before) / sessions.size;
  const began = performance.now();
  sessions.sweep();
  console.log(
    `ended sessions: ${bytes.toFixed(0)} bytes each, of a million; a sweep takes ${(performance.now() - began).toFixed(0)} ms`,
  );
}

await compare();
memory();
await sessionChecks();
