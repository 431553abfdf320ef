import { nextMessage, startChild } from './child.js';
import type { Cleanup } from './cleanup.js';
import type { FloorSettings } from './floors/floor.js';
import type { Target } from './target.js';

const FLOORS = [
  { kind: 'two', workloads: ['W1', 'W3'] },
  { kind: 'one', workloads: ['W1', 'W2', 'W3'] },
  { kind: 'batch', workloads: ['W1', 'W2'] },
  { kind: 'signature', workloads: ['W2'] },
  { kind: 'proof', workloads: ['W1P'] },
] as const;

export function startFloors(databaseUrl: string, providerUrl: string, cleanup: Cleanup): Promise<Target[]> {
  return Promise.all(
    FLOORS.map(async ({ kind, workloads }) => {
      const child = startChild('./floors/floor.js', cleanup);
      const settings: FloorSettings = { kind, databaseUrl, providerUrl };
      child.send(settings); // not as an argument: it holds a password
      const port = await nextMessage<number>(child);
      return { name: `floor-${kind}`, pid: child.pid!, port, workloads };
    }),
  );
}

/** Starts the stub provider; returns its base address. */
export async function startStubProvider(cleanup: Cleanup): Promise<string> {
  const child = startChild('./stub-provider.js', cleanup);
  const port = await nextMessage<number>(child);
  return `http://127.0.0.1:${port}`;
}
