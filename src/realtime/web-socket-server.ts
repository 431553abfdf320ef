import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type ServerOptions, type WebSocket } from 'ws';
import { countFrames } from './frames.js';
import { rememberRawSocket } from './raw-socket.js';

/** Limits beside the 64 KiB that a message may have: its pieces cost more memory than their bytes. */
const LIMITS = {
  autoPong: false, // `ws` would answer every PING, and keep what is not read; frames.ts answers
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
