import type { WebSocket } from 'ws';
import { MessageBucket } from './message-bucket.js';

const counters = new WeakMap<WebSocket, () => void>();
/** WebSockets with a PONG that is not on its way yet, and the data of the latest PING since then. */
const ponging = new WeakMap<WebSocket, Buffer | undefined>();

/**
 * Counts everything that a WebSocket receives, messages and control frames alike, and answers PINGs. Until
 * `takeOverCounting` is called, a WebSocket that receives too much is cut off.
 */
export function countFrames(webSocket: WebSocket): void {
  const bucket = new MessageBucket();
  counters.set(webSocket, () => bucket.take() || webSocket.terminate());
  webSocket.on('message', onFrame).on('ping', onPing).on('pong', onFrame).on('error', onError);
}

/** From now on `count` is called for every message and control frame. */
export function takeOverCounting(webSocket: WebSocket, count: () => void): void {
  counters.set(webSocket, count);
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
