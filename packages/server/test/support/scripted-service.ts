import { keys, type StreamAnswer } from './vectors.js';

/** A stream that the verifier reads. A read that waits for bytes has processed those before it. */
class ScriptedStream {
  readonly body: ReadableStream<Uint8Array>;
  isLeft = false;
  private isReading = false;
  private controller!: ReadableStreamDefaultController<Uint8Array>;

  constructor(signal: AbortSignal) {
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.controller = controller),
        pull: () => void (this.isReading = true),
        cancel: () => void (this.isLeft = true),
      },
      { highWaterMark: 0 },
    );
    signal.addEventListener('abort', () => {
      if (!this.isLeft) this.controller.error(signal.reason);
      this.isLeft = true;
    });
  }

  async send(bytes: Uint8Array): Promise<void> {
    await soon(() => this.isReading || this.isLeft, 'the verifier reads');
    if (this.isLeft) return;
    this.isReading = false;
    this.controller.enqueue(bytes);
    await soon(() => this.isReading || this.isLeft, 'the verifier has processed what was sent');
  }

  end(): void {
    if (!this.isLeft) this.controller.close();
    this.isLeft = true;
  }
}

interface Waiting {
  readonly cursor: string | null;
  readonly signal: AbortSignal;
  readonly answer: (response: Response) => void;
}

/** Answers in place of the service, as the steps of a case want it. */
export class ScriptedService {
  jwks: () => Response = () => publishing(['k1']);
  introspection: () => Response = () => {
    throw new TypeError('fetch failed');
  };
  introspections = 0;
  keyRequests = 0;
  private stream: ScriptedStream | undefined;
  private waiting: Waiting | undefined;

  readonly fetch = (url: string, init: RequestInit): Promise<Response> => {
    const { pathname } = new URL(url);
    if (pathname === '/sessions/ended') return this.connection(init);
    return new Promise((resolve) => {
      if (pathname === '/.well-known/jwks.json') {
        this.keyRequests++;
        return resolve(this.jwks());
      }
      this.introspections++;
      resolve(this.introspection());
    });
  };

  /** @returns `Last-Event-ID` */
  async connect({ status = 200, type = 'text/event-stream', headers, body }: StreamAnswer) {
    const { cursor, signal, answer } = await this.nextConnection();
    this.waiting = undefined;
    // As `fetch` does with `redirect: 'error'`.
    if (status >= 300 && status < 400) answer(Response.error());
    else if (status !== 200 || body !== undefined)
      answer(
        new Response(status === 204 ? null : body!, {
          status,
          headers: { ...headers, 'content-type': type },
        }),
      );
    else {
      this.stream = new ScriptedStream(signal);
      answer(new Response(this.stream.body, { headers: { ...headers, 'content-type': type } }));
      return cursor;
    }
    await this.nextConnection();
    return cursor;
  }

  send(bytes: string | { readonly base64: string }): Promise<void> {
    return this.stream!.send(
      typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes.base64, 'base64'),
    );
  }

  async end(): Promise<void> {
    this.stream!.end();
    await this.nextConnection();
  }

  private async nextConnection(): Promise<Waiting> {
    await soon(() => this.waiting?.signal.aborted === false, 'the verifier connects');
    return this.waiting!;
  }

  private connection({ headers, signal }: RequestInit): Promise<Response> {
    return new Promise((resolve, reject) => {
      const cursor = new Headers(headers).get('last-event-id');
      this.waiting = { cursor, signal: signal!, answer: resolve };
      signal!.addEventListener('abort', () => reject(signal!.reason as Error));
    });
  }
}

/** The answer with these keys. */
export function publishing(kids: readonly string[]): Response {
  return Response.json({ keys: kids.map((kid) => keys[kid]) });
}

/** By real timers: the clocks of the test stand still. */
async function soon(holds: () => boolean, what: string): Promise<void> {
  for (let i = 0; !holds(); i++) {
    if (i > 30_000) throw new Error(`never came true: ${what}`);
    await new Promise((resolve) => (i < 100 ? setImmediate(resolve) : setTimeout(resolve, 2)));
  }
}
