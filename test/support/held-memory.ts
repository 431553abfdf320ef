import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { ServiceProcess } from './service-process.js';

/** For the environment of a service whose memory is asked for. */
export const INSPECTED = '--inspect=127.0.0.1:0';

const ADDRESS = /Debugger listening on (ws:\/\/\S+)/;
const HELD = '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())';

/**
 * Bytes that a service still holds once its garbage is collected, on V8's heap and beside it.
 * @param service started with `NODE_OPTIONS` that have INSPECTED
 */
export async function heldMemory(service: ServiceProcess): Promise<number> {
  const socket = new WebSocket(ADDRESS.exec(service.output())![1]!);
  await once(socket, 'open');
  const ask = async (method: string, params: object): Promise<unknown> => {
    socket.send(JSON.stringify({ id: 1, method, params }));
    const [answer] = (await once(socket, 'message')) as [Buffer];
    return (JSON.parse(answer.toString()) as { result: { result?: { value: unknown } } }).result.result
      ?.value;
  };
  try {
    // What is freed by the first may have held more.
    for (let i = 0; i < 3; i++) await ask('HeapProfiler.collectGarbage', {});
    return (await ask('Runtime.evaluate', { expression: HELD })) as number;
  } finally {
    socket.terminate();
  }
}
