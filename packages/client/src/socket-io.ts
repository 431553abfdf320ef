/** What the channel uses of a Socket.IO 4 socket; written down here so that the peer's types are not needed. */
export interface Socket {
  auth: unknown;
  readonly connected: boolean;
  connect(): unknown;
  disconnect(): unknown;
  on(event: string, handler: (...parameters: never[]) => void): unknown;
  onAny(handler: (event: string, ...parameters: unknown[]) => void): unknown;
  emit(event: string, ...parameters: unknown[]): unknown;
}

/** The module `socket.io-client`. */
export interface SocketIo {
  readonly io: (url: string, options: Record<string, unknown>) => Socket;
}
