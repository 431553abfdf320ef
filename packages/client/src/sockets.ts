// What the channel needs of a Socket.IO client: WebSocket, the default namespace, no binary data. Engine.IO protocol 4
// (github.com/socketio/engine.io-protocol: "Handshake", "Heartbeat") carries Socket.IO protocol 5
// (github.com/socketio/socket.io-protocol: "Packet encoding"). It ends when socket.io-client 4 ends.
// It is a chunk of its own, which `connect()` loads, and imports nothing: what it shared with the rest would be a third file.
import type { SocketIo } from './socket-io.js';

/** Milliseconds until the `open` packet. */
const LONGEST_START = 20_000;
/** `open`, `ping`, or a `message` that is a packet of Socket.IO; the id of an acknowledgement; JSON. */
const PACKET = /^(0|2|4[0-4])(\d*)(.*)/s;
/** `close` (the WebSocket's own follows), `pong`, `upgrade`, `noop`, and what is of another namespace. */
const IGNORED = /^([1356]|4[0-4]\/)/;
/** Names that the socket's own events have, and no others may. */
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
  /** Milliseconds in which the next ping has to come; undefined before `open`. */
  let patience: number | undefined;

  const leave = (): void => {
    over = true;
    clearTimeout(timer);
    globalThis.window?.removeEventListener('offline', lose);
  };
  const close = (): void => {
    leave();
    socket?.close(); // its listeners stay: in Node.js an error that nobody listens to ends the process
  };
  /** The socket tells its end once. @param data what the service says of a refusal */
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
      case '0': // the service says how often it sends pings; we say who we are
        patience = Number(data?.['pingInterval']) + Number(data?.['pingTimeout']); // NaN ends it at once
        endAfter(patience, 'ping timeout');
        return socket!.send(`40${JSON.stringify(auth)}`);
      case '2':
        endAfter(patience, 'ping timeout');
        return socket!.send('3');
      case '40':
        if (!data?.['sid']) break;
        connected = true;
        return;
      case '41':
        return end('io server disconnect');
      case '42': // with `(data, meta)`; a longer list is not spread, which would take as much of the stack
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

  endAfter(LONGEST_START, 'timeout');
  globalThis.window?.addEventListener('offline', lose);
  try {
    socket = new WebSocket(
      url.replace(/^http/i, 'ws').replace(/\/*$/, '/socket.io/?EIO=4&transport=websocket'),
    );
    socket.addEventListener('message', ({ data }) => receive(data));
    socket.addEventListener('error', () => end('websocket error'));
    socket.addEventListener('close', lose);
  } catch {
    endAfter(0, 'websocket error'); // later, when somebody listens
  }

  return {
    on: (event, handler) => handlers.set(event, handler as Handler),
    onAny: (handler) => (onEvent = handler as Handler),
    /** What is emitted while there is no connection is lost. */
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
      leave(); // later: closed before it is open, Chromium writes an error into the console
      socket.addEventListener('open', () => socket.close());
    },
  };
};

/** Undefined for what is no JSON. */
function parsed(json = ''): Partial<Record<string, unknown>> | null | undefined {
  try {
    return JSON.parse(json) as Partial<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}
