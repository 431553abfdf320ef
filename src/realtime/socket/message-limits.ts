import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Server } from 'socket.io';
import { WebSocketServer, type ServerOptions, type WebSocket } from 'ws';
import { rawSockets, type Transport } from './transport.js';

/** Messages a second that a client may send, and how many at once (docs/realtime.md#limits). */
const PER_SECOND = 20;
const BURST = 50;

/** Token bucket of BURST messages, refilled at PER_SECOND. */
class MessageBucket {
  private left = BURST;
  private countedAt = performance.now();

  take(): boolean {
    const now = performance.now();
    this.left = Math.min(BURST, this.left + ((now - this.countedAt) / 1000) * PER_SECOND) - 1;
    this.countedAt = now;
    return this.left >= 0;
  }
}

const counters = new WeakMap<WebSocket, () => void>();
/** WebSockets with an unsent PONG, and the data of the latest PING since then. */
const ponging = new WeakMap<WebSocket, Buffer | undefined>();

/**
 * Counts frames of a WebSocket, and answers PINGs. A client beyond the limit is cut off until `limitMessages`
 * knows its transport.
 */
export function countFrames(webSocket: WebSocket): void {
  const bucket = new MessageBucket();
  counters.set(webSocket, () => bucket.take() || webSocket.terminate());
  webSocket.on('message', onFrame).on('ping', onPing).on('pong', onFrame).on('error', onError);
}

function onFrame(this: WebSocket): void {
  counters.get(this)!();
}

function onPing(this: WebSocket, data: Buffer): void {
  onFrame.call(this);
  pong(this, Buffer.from(data)); // a copy: `data` would keep its whole chunk in memory
}

/** After an error `ws` sends a CLOSE, and would read everything until the client answers. */
function onError(this: WebSocket): void {
  setImmediate(() => this.pause());
}

/** RFC 6455 §5.5.3: of unanswered PINGs only the latest needs an answer. So at most one PONG is queued. */
function pong(webSocket: WebSocket, data: Buffer): void {
  if (ponging.has(webSocket)) return void ponging.set(webSocket, data);
  ponging.set(webSocket, undefined);
  webSocket.pong(data, false, () => {
    const latest = ponging.get(webSocket);
    ponging.delete(webSocket);
    if (latest) pong(webSocket, latest);
  });
}

/** Unread packets of a client. Events stop long before (connection.ts); the others answer its messages. */
const MOST_UNREAD = 1000;

/** Limits what clients send: packets of Engine.IO, and control frames of WebSockets. */
export function limitMessages(server: Server, onExceeded: (transport: Transport) => void): void {
  server.engine.on('connection', (transport: Transport) => {
    const bucket = new MessageBucket();
    const count = (): void => {
      if (bucket.take() && transport.writeBuffer.length < MOST_UNREAD) return;
      transport.transport.socket?.pause();
      onExceeded(transport);
    };
    const { socket } = transport.transport;
    if (socket) {
      counters.set(socket, count);
      return;
    }
    transport.on('packet', () => transport.transport.socket ?? count()); // long polling has no frames
    transport.on('upgrading', (probed: Transport['transport']) => counters.set(probed.socket!, count));
  });
}

/** Limits beside the 64 KiB of a message: its fragments cost more memory than their bytes. */
const LIMITS = {
  autoPong: false, // `ws` would queue a PONG for every PING; see `pong`
  maxFragments: 128, // a message: some libraries send 1 KiB each
  maxBufferedChunks: 1024, // a frame: the smallest TCP segments have 536 bytes
  closeTimeout: 1000, // ms that a client may take to answer a CLOSE; `ws` would wait 30 s
};

/** WebSocket server for Engine.IO (`wsEngine`) that counts from the first frame on. */
export class LimitedWebSocketServer extends WebSocketServer {
  constructor(options: ServerOptions) {
    super({ ...options, ...LIMITS });
  }

  override handleUpgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    done: (webSocket: WebSocket, request: IncomingMessage) => void,
  ): void {
    // Engine.IO rejects clients of another protocol (Socket.IO 2) and hangs up, so that answer cannot wait.
    // as Engine.IO has parsed it
    const { _query: query } = request as IncomingMessage & { _query: { EIO?: string } };
    if (query.EIO === '4') socket.cork();
    super.handleUpgrade(request, socket, head, (webSocket) => {
      countFrames(webSocket);
      rawSockets.set(webSocket, socket);
      done(webSocket, request);
    });
    // Engine.IO sends its first packet a microtask later: one `write` sends both.
    queueMicrotask(() => socket.uncork());
  }
}
