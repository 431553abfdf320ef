import type { Socket } from '../channel/channel-events.js';

type Handler = (...details: unknown[]) => void;

/** A Socket.IO socket that a test controls. */
export class FakeSocket implements Socket {
  static readonly all: FakeSocket[] = [];
  left = false;
  /** What the client has emitted, with its acknowledgement last. */
  readonly sent: unknown[][] = [];
  private readonly handlers = new Map<string, Handler>();
  private any: Handler = () => undefined;

  constructor(
    readonly url: string,
    readonly options: Record<string, unknown>,
  ) {
    FakeSocket.all.push(this);
  }

  static io = (url: string, options: Record<string, unknown>): Socket => new FakeSocket(url, options);

  static get last(): FakeSocket {
    return FakeSocket.all.at(-1)!;
  }

  get auth(): unknown {
    return this.options['auth'];
  }

  disconnect(): void {
    this.left = true;
  }

  on(event: string, handler: (...parameters: never[]) => void): void {
    this.handlers.set(event, handler as Handler);
  }

  onAny(handler: (event: string, ...parameters: unknown[]) => void): void {
    this.any = handler as Handler;
  }

  emit(...all: unknown[]): void {
    this.sent.push(all);
  }

  /** The service sends an event. */
  receive(event: string, ...details: unknown[]): void {
    this.any(event, ...details);
  }

  /** The service answers what was emitted last. */
  acknowledge(answer: object = {}): void {
    (this.sent.at(-1)!.at(-1) as (answer: object) => void)(answer);
  }

  /** `disconnect` or `connect_error`. */
  happen(event: string, detail?: unknown): void {
    this.handlers.get(event)?.(detail);
  }
}
