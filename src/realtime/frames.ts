import type { WebSocket } from 'ws';
import { MessageBucket } from './message-bucket.js';

const counters = new WeakMap<WebSocket, () => void>();
/** WebSockets with a PONG that is not on its way yet, and what the latest PING since then has said. */
const ponging = new WeakMap<WebSocket, Buffer | undefined>();

/**
 * Counts everything that a WebSocket brings, messages and control frames alike, and answers its PINGs. Until somebody
 * takes the counting over, one that sends too much is cut off.
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
  pong(this, Buffer.from(data)); // a copy: it would hold the whole chunk that it came in
}

/** `ws` says why it closes, and would read on, for nothing, until that is answered. */
function onError(this: WebSocket): void {
  setImmediate(() => this.pause());
}

/** RFC 6455 §5.5.3: whoever has not answered yet may answer the latest PING alone. So one PONG waits, and no more. */
function pong(webSocket: WebSocket, data: Buffer): void {
  if (ponging.has(webSocket)) return void ponging.set(webSocket, data);
  ponging.set(webSocket, undefined);
  webSocket.pong(data, false, () => {
    const latest = ponging.get(webSocket);
    ponging.delete(webSocket);
    if (latest) pong(webSocket, latest);
  });
}
