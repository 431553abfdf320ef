import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cleanup } from './cleanup.js';
import type { Measured } from './turn.js';

const START_MS = 120_000;

export interface ServiceOptions {
  readonly name: string;
  /** Program and its arguments. */
  readonly command: readonly [string, ...string[]];
  readonly port: number;
  /** Answers 200 if the service is ready. */
  readonly readyPath: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

export interface Service extends Measured {
  stop(): Promise<void>;
}

/** Starts a program, and waits until it is ready; the program ends with the run. */
export async function startService(options: ServiceOptions, cleanup: Cleanup): Promise<Service> {
  const { name, port, readyPath, env, cwd } = options;
  const [program, ...args] = options.command;
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] });
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
  };
  cleanup.add(stop);
  const deadline = Date.now() + START_MS;
  while (!(await answers(`http://127.0.0.1:${port}${readyPath}`))) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`${name} did not start`);
    await delay(20);
  }
  return { name, pid: child.pid!, port, stop };
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}
