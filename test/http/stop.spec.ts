import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { startTestService } from '../support/service.js';

const CLIENTS = 20;

/** Opens connections with a request each while the main thread is blocked; then posts the first line of each answer, or the error. */
const CLIENTS_SCRIPT = `
  const { connect } = require('node:net');
  const { parentPort, workerData: { port, progress } } = require('node:worker_threads');
  const answers = [];
  const settle = (answer) => answers.push(answer) === ${CLIENTS} && parentPort.postMessage(answers);
  parentPort.postMessage('ready');
  Atomics.wait(progress, 0, 0);
  for (let i = 0; i < ${CLIENTS}; i++) {
    const socket = connect(port, '127.0.0.1', () =>
      socket.write('GET /health/live HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n', () => {
        Atomics.add(progress, 1, 1);
        Atomics.notify(progress, 1);
      }));
    socket.once('data', (data) => settle(String(data).split('\\r\\n')[0])).on('error', ({ code }) => settle(code));
  }`;

it('answers, before it stops, connections that only the kernel has accepted', async () => {
  const service = await startTestService({ SHUTDOWN_DELAY: '1' });
  const progress = new Int32Array(new SharedArrayBuffer(8));
  const port = Number(new URL(service.url).port);
  const clients = new Worker(CLIENTS_SCRIPT, { eval: true, workerData: { port, progress } });
  try {
    await once(clients, 'message');
    const answered = once(clients, 'message');
    const closed = service.close();
    await setImmediate(); // timers are next
    Atomics.store(progress, 0, 1);
    Atomics.notify(progress, 0);
    for (let sent = 0; sent < CLIENTS; sent = Atomics.load(progress, 1)) Atomics.wait(progress, 1, sent);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1100); // SHUTDOWN_DELAY is over
    expect(await answered).toEqual([Array<string>(CLIENTS).fill('HTTP/1.1 200 OK')]);
    await closed;
  } finally {
    await clients.terminate();
  }
});
