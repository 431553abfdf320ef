// The part of a Socket.IO client that the channel needs: WebSocket, default namespace, no binary data. Engine.IO protocol 4
// (github.com/socketio/engine.io-protocol: "Handshake", "Heartbeat") carries Socket.IO protocol 5
// (github.com/socketio/socket.io-protocol: "Packet encoding"). A separate chunk, loaded by `connect()`: it imports nothing, since
// shared code would become a third file.
import type { SocketIo } from './channel-events.js';

/** Milliseconds until the `open` packet. */
const OPEN_TIMEOUT = 20_000;
/** `open`, `ping`, or a Socket.IO packet in a `message`; id of an acknowledgement; JSON. */
const PACKET = /^(0|2|4[0-4])(\d*)(.*)/s;
/** `close` (the WebSocket's follows), `pong`, `upgrade`, `noop`, and packets of other namespaces. */
const IGNORED = /^([1356]|4[0-4]\/)/;
/** Names of the socket's own events, which the service may not send. */
const RESERVED = /^(connect(_error)?|disconnect(ing)?|(new|remove)Listener)$/;

/** `WebSocket.CONNECTING` */
const CONNECTING = 0;

type Handler = (...details: unknown[]) => void;

export const io: SocketIo['io'] = (url, { auth }) => {
  const handlers = new Map<string, Handler>();
  const acknowledgements = new Map<string, Handler>();
  let emitted = 0;
  let onEvent: Handler | undefined;
  let socket: WebSocket | undefined;
  let connected = false;
  let over = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Milliseconds until the next ping; undefined before `open`. */
  let pingTimeout: number | undefined;

  const leave = (): void => {
    over = true;
    clearTimeout(timer);
    globalThis.window?.removeEventListener('offline', lose);
  };
  const close = (): void => {
    leave();
    socket?.close(); // the listeners stay: in Node.js an `error` event without a listener ends the process
  };
  /** Reports the end, once. @param data of the service's `connect_error` */
  const end = (message: unknown, data?: unknown): void => {
    if (over) return;
    close();
    if (connected) handlers.get('disconnect')?.(message);
    else handlers.get('connect_error')?.(Object.assign(new Error(), { message, data }));
  };
  const lose = (): void => end('transport close');
  const endAfter = (milliseconds: number | undefined, message: string): void => {
    clearTimeout(timer);
    timer = setTimeout(end, milliseconds, message);
  };

  const receive = (frame: unknown): void => {
    const text = typeof frame === 'string' ? frame : '';
    if (over || IGNORED.test(text)) return;
    const [, type, id, json] = PACKET.exec(text) ?? [];
    const data = parsed(json);
    switch (type) {
      case '0':
        pingTimeout = Number(data?.['pingInterval']) + Number(data?.['pingTimeout']); // NaN ends the connection at once
        endAfter(pingTimeout, 'ping timeout');
        return socket!.send(`40${JSON.stringify(auth)}`);
      case '2':
        endAfter(pingTimeout, 'ping timeout');
        return socket!.send('3');
      case '40':
        if (!data?.['sid']) break;
        connected = true;
        return;
      case '41':
        return end('io server disconnect');
      case '42': // not spread: a long list would overflow the stack
        if (!connected || !Array.isArray(data) || typeof data[0] !== 'string' || RESERVED.test(data[0]))
          break;
        return onEvent?.(data[0], data[1], data[2]);
      case '43': {
        if (!Array.isArray(data)) break;
        const acknowledge = acknowledgements.get(id!);
        acknowledgements.delete(id!);
        return acknowledge?.(data[0]);
      }
      case '44':
        return end(data?.['message'], data?.['data']);
    }
    end('parse error');
  };

  endAfter(OPEN_TIMEOUT, 'timeout');
  globalThis.window?.addEventListener('offline', lose);
  try {
    socket = new WebSocket(
      url.replace(/^http/i, 'ws').replace(/\/*$/, '/socket.io/?EIO=4&transport=websocket'),
    );
    socket.addEventListener('message', ({ data }) => receive(data));
    socket.addEventListener('error', () => end('websocket error'));
    socket.addEventListener('close', lose);
  } catch {
    endAfter(0, 'websocket error'); // the caller adds its listeners first
  }

  return {
    on: (event, handler) => handlers.set(event, handler as Handler),
    onAny: (handler) => (onEvent = handler as Handler),
    /** Without a connection the event is lost. */
    emit(...all) {
      if (!connected || over) return;
      const acknowledge = typeof all.at(-1) === 'function' && (all.pop() as Handler);
      if (acknowledge) acknowledgements.set(String(emitted), acknowledge);
      socket!.send(`42${acknowledge ? emitted++ : ''}${JSON.stringify(all)}`);
    },
    disconnect() {
      if (over) return;
      if (connected) socket!.send('41');
      if (socket?.readyState !== CONNECTING) return close();
      leave(); // closed once it is open: otherwise Chromium logs an error
      socket.addEventListener('open', () => socket.close());
    },
  };
};

/** Parses JSON; undefined if the text is invalid. */
function parsed(json = ''): Partial<Record<string, unknown>> | null | undefined {
  try {
    return JSON.parse(json) as Partial<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}
