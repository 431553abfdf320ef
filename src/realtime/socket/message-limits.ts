import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Server } from 'socket.io';
import { WebSocketServer, type ServerOptions, type WebSocket } from 'ws';
import { rememberRawSocket } from './outgoing.js';
import type { Transport } from './transport.js';

/** Messages a second that a client may send, and how many at once (contract §7). */
const PER_SECOND = 20;
const BURST = 50;

/** A bucket of BURST messages that fills up again at PER_SECOND. */
class MessageBucket {
  private left = BURST;
  private countedAt = performance.now();

  /** Takes one message out. @returns false when there was none left */
  take(): boolean {
    const now = performance.now();
    this.left = Math.min(BURST, this.left + ((now - this.countedAt) / 1000) * PER_SECOND) - 1;
    this.countedAt = now;
    return this.left >= 0;
  }
}

/** What is called for every message and control frame. */
const counters = new WeakMap<WebSocket, () => void>();
/** WebSockets with a PONG that is not on its way yet, and the data of the latest PING since then. */
const ponging = new WeakMap<WebSocket, Buffer | undefined>();

/**
 * Counts everything that a WebSocket receives, messages and control frames alike, and answers PINGs. Until
 * `limitMessages` knows its connection, a WebSocket that receives too much is cut off.
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
  pong(this, Buffer.from(data)); // a copy: `data` would keep alive the whole chunk that it came in
}

/** After an error `ws` sends a CLOSE, and would go on reading until it is answered: that is useless work. */
function onError(this: WebSocket): void {
  setImmediate(() => this.pause());
}

/** RFC 6455 §5.5.3: an endpoint that has unanswered PINGs may answer only the latest one. So at most one PONG waits. */
function pong(webSocket: WebSocket, data: Buffer): void {
  if (ponging.has(webSocket)) return void ponging.set(webSocket, data);
  ponging.set(webSocket, undefined);
  webSocket.pong(data, false, () => {
    const latest = ponging.get(webSocket);
    ponging.delete(webSocket);
    if (latest) pong(webSocket, latest);
  });
}

/** Packets that may wait for a client to read. Events stop long before (connection.ts); the rest answers its messages. */
const MOST_UNREAD = 1000;

/**
 * Counts everything that clients send, from the first byte on: packets of Engine.IO, and the control frames of WebSockets
 * (contract §7).
 * @param onExceeded called with the transport of a client that sends too much, or that does not read the answers it asked for
 */
export function limitMessages(server: Server, onExceeded: (transport: Transport) => void): void {
  server.engine.on('connection', (transport: Transport) => {
    const bucket = new MessageBucket();
    const count = (): void => {
      if (bucket.take() && transport.writeBuffer.length < MOST_UNREAD) return;
      transport.transport.socket?.pause(); // what it has sent already is not worth reading
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

/** Limits beside the 64 KiB that a message may have: its pieces cost more memory than their bytes. */
const LIMITS = {
  autoPong: false, // `ws` would answer every PING, and keep what is not read; `pong` answers
  maxFragments: 128, // of a message: some libraries send 1 KiB each
  maxBufferedChunks: 1024, // of a frame, as the network brings it: a TCP segment of the smallest kind has 536 bytes
  closeTimeout: 1000, // ms that a client may take to answer a CLOSE; `ws` would wait 30 s
};

/** Makes the WebSockets of Engine.IO (its option `wsEngine`): what they send is counted from the first frame on. */
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
    // Engine.IO refuses another protocol than its own (Socket.IO 2) once this is done, and hangs up: that answer cannot wait.
    const { _query: query } = request as IncomingMessage & { _query: { EIO?: string } }; // as Engine.IO has parsed it
    if (query.EIO === '4') socket.cork();
    super.handleUpgrade(request, socket, head, (webSocket) => {
      countFrames(webSocket);
      rememberRawSocket(webSocket, socket);
      done(webSocket, request);
    });
    // Engine.IO sends its first packet a microtask later: it goes with the answer, in one `write`.
    queueMicrotask(() => socket.uncork());
  }
}
