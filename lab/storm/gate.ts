import {
  createServer,
  request as send,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { seenOf, type Seen } from './seen.js';

/** Milliseconds from when an answer was written until the browser has read it. */
const READ_MS = 100;
/** Requests that may be under way. */
const MOST_AT_ONCE = 100;
const LONGEST_ANSWER_MS = 1000;

export class Gate {
  /** Addresses of the instances; requests go to them in turn. */
  instances: readonly string[] = [];
  /** Whether connections end before anything is sent on. */
  away = false;
  /** Whether what browsers send arrives, and nothing that instances answer comes back. */
  oneWay = false;
  /** By how much answers are late. */
  slowMs = 0;
  lost = 0;
  /** How many of the next POSTs it sends twice itself. */
  twice = 0;
  readonly seen: Seen[] = [];
  /** How many answers to refreshes it keeps at the moment. */
  kept = 0;
  private keeping: Promise<void> | undefined;
  /** Until then nothing passes, in either direction. */
  private held: Promise<void> | undefined;
  /** How many requests the instances have not answered yet. */
  private underWay = 0;
  private turn = 0;
  private readonly sockets = new Set<Duplex>();

  private constructor(private readonly server: Server) {
    server.on('connection', (socket: Socket) => this.track(socket));
    server.on('request', (incoming: IncomingMessage, response) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => void this.serve(incoming, response, Buffer.concat(chunks)));
    });
    server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) =>
      this.upgrade(incoming, socket, head),
    );
  }

  static async start(): Promise<Gate> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Gate(server);
  }

  get url(): string {
    return `http://localhost:${(this.server.address() as AddressInfo).port}`;
  }

  /** Whether a refresh is on its way. */
  get isRefreshing(): boolean {
    return this.seen.some(({ path, ended }) => path === '/oauth2/refresh' && ended === undefined);
  }

  /** Breaks all connections. */
  cut(): void {
    for (const one of this.seen.slice(-MOST_AT_ONCE))
      if (one.ended === undefined || Date.now() - one.ended < READ_MS) one.broken = true;
    for (const socket of this.sockets) socket.destroy();
  }

  async hold(work: () => Promise<void>): Promise<void> {
    let release!: () => void;
    this.held = new Promise((resolve) => (release = resolve));
    try {
      const end = performance.now() + LONGEST_ANSWER_MS;
      while (this.underWay > 0 && performance.now() < end) await delay(5);
      await work();
    } finally {
      this.held = undefined;
      release();
    }
  }

  calm(): void {
    if (this.oneWay) this.cut();
    this.away = this.oneWay = false;
    this.slowMs = this.lost = this.twice = 0;
  }

  /** Keeps the answers to refreshes from now on; returns a function that lets them go. */
  keepRefreshes(): () => void {
    let release!: () => void;
    this.keeping = new Promise((resolve) => {
      release = () => {
        this.keeping = undefined;
        resolve();
      };
    });
    return release;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async serve(incoming: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
    const seen = seenOf(incoming);
    this.seen.push(seen);
    response.on('close', () => {
      seen.ended ??= Date.now();
      seen.delivered = response.writableFinished;
    });
    try {
      await this.held;
      if (this.away) throw new Error('away');
      const answer = await this.answer(incoming, seen, body);
      const text = await buffer(answer);
      seen.ended ??= Date.now(); // not when the gate has noticed that the browser has it
      response.writeHead(answer.statusCode!, answer.rawHeaders).end(text);
    } catch {
      incoming.socket.destroy();
    }
  }

  private async answer(incoming: IncomingMessage, seen: Seen, body: Buffer): Promise<IncomingMessage> {
    let answer = await this.forward(incoming, body);
    if (incoming.method === 'POST') {
      if (this.lost > 0) {
        this.lost--;
        seen.status = 0;
        throw new Error('lost');
      }
      if (this.twice > 0) {
        this.twice--;
        answer.resume();
        answer = await this.forward(incoming, body);
      }
    }
    if (this.keeping && seen.path === '/oauth2/refresh' && seen.method === 'POST') {
      this.kept++;
      await this.keeping;
      this.kept--;
    }
    if (this.slowMs) await delay(this.slowMs);
    if (this.oneWay) return new Promise(() => undefined); // until its connection is cut
    seen.status = answer.statusCode!;
    return answer;
  }

  private next(): string {
    this.turn++;
    const instance = this.instances[this.turn % this.instances.length];
    if (!instance) throw new Error('no instance');
    return instance;
  }

  private async forward(
    { method, url, rawHeaders }: IncomingMessage,
    body: Buffer,
  ): Promise<IncomingMessage> {
    const instance = this.next();
    this.underWay++;
    try {
      return await new Promise((resolve, reject) => {
        const forwarded = send(instance + url, { method, headers: rawHeaders, agent: false }, resolve);
        forwarded.on('error', reject).end(body);
      });
    } finally {
      this.underWay--;
    }
  }

  private upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (this.away || this.instances.length === 0) {
      socket.destroy();
      return;
    }
    const { hostname, port } = new URL(this.next());
    const upstream = connect(Number(port), hostname);
    this.track(upstream);
    const headers = incoming.rawHeaders.map((text, n) => (n % 2 ? `${text}\r\n` : `${text}: `)).join('');
    upstream.write(`GET ${incoming.url} HTTP/1.1\r\n${headers}\r\n`);
    upstream.write(head);
    socket.on('data', (chunk: Buffer) => this.onceFree(() => upstream.write(chunk)));
    upstream.on('data', (chunk: Buffer) => this.onceFree(() => this.oneWay || socket.write(chunk)));
    upstream.on('close', () => this.onceFree(() => socket.destroy()));
    socket.on('close', () => this.onceFree(() => upstream.destroy()));
  }

  /** What comes later is done later: waiting for nothing takes a turn as well. */
  private onceFree(work: () => void): void {
    void Promise.resolve(this.held).then(work);
  }

  private track(socket: Duplex): void {
    this.sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.sockets.delete(socket));
  }
}
