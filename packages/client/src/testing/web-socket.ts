/** A WebSocket with a test as its other end. */
export class FakeWebSocket extends EventTarget {
  static readonly all: FakeWebSocket[] = [];
  /** What was sent, and `close()`. */
  readonly log: string[] = [];
  readyState = 1;

  constructor(readonly url: string) {
    super();
    FakeWebSocket.all.push(this);
  }

  static get last(): FakeWebSocket {
    return FakeWebSocket.all.at(-1)!;
  }

  send(frame: string): void {
    this.log.push(frame);
  }

  close(): void {
    this.log.push('close()');
  }

  /** The service sends frames. */
  receive(...frames: unknown[]): void {
    for (const data of frames) this.dispatchEvent(new MessageEvent('message', { data }));
  }

  happen(event: 'open' | 'error' | 'close'): void {
    this.dispatchEvent(new Event(event));
  }
}
