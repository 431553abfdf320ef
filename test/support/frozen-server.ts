import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { until } from './until.js';

const SCRIPT = `
  const server = require('node:net').createServer((socket) => {
    console.log('connection');
    socket.on('error', () => undefined).on('data', (data) => console.log(String(data)));
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port));`;

/** A program that listens and is stopped (SIGSTOP), with its queue full: connections to it are neither made nor refused. */
export class FrozenServer {
  private output = '';
  private readonly queue: Socket[] = [];

  private constructor(private readonly child: ChildProcess) {
    child.stdout!.on('data', (data: Buffer) => (this.output += data.toString()));
  }

  static async start(): Promise<FrozenServer> {
    const server = new FrozenServer(spawn(process.execPath, ['-e', SCRIPT]));
    await until(() => server.output.includes('\n'));
    server.child.kill('SIGSTOP');
    await until(() => readFileSync(`/proc/${server.child.pid}/stat`, 'utf8').includes(') T '));
    while (await server.queueOne());
    return server;
  }

  get port(): number {
    return Number.parseInt(this.output);
  }

  /** Connections that the kernel had made before its queue was full. */
  get queued(): number {
    return this.queue.length;
  }

  /** Connections that it has taken since it was thawed. */
  get connections(): number {
    return this.output.split('connection\n').length - 1;
  }

  thaw(): void {
    this.child.kill('SIGCONT');
  }

  /** @returns all that it was sent */
  async end(): Promise<string> {
    for (const socket of this.queue) socket.destroy();
    this.thaw();
    this.child.kill();
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit');
    return this.output;
  }

  private async queueOne(): Promise<boolean> {
    const socket = connect(this.port, '127.0.0.1').on('error', () => undefined);
    let timer: NodeJS.Timeout | undefined;
    const full = new Promise<false>((resolve) => (timer = setTimeout(resolve, 300, false)));
    const isMade = await Promise.race([once(socket, 'connect').then(() => true), full]);
    clearTimeout(timer);
    if (isMade) this.queue.push(socket);
    else socket.destroy();
    return isMade;
  }
}
