/** What the channel uses of a socket of `socket.io-client` 4; written down here so that its types are not needed. */
export interface Socket {
  disconnect(): unknown;
  on(event: 'connect_error' | 'disconnect', handler: (...details: never[]) => void): unknown;
  onAny(handler: (event: string, ...details: unknown[]) => void): unknown;
  /** An acknowledgement comes to the last parameter, where that is a function. */
  emit(event: string, ...parameters: unknown[]): unknown;
}

/** The module `socket.io-client`, or one that has the same `io`. */
export interface SocketIo {
  readonly io: (url: string, options: Record<string, unknown>) => Socket;
}
