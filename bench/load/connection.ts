import { connect, type Socket } from 'node:net';
import { once } from 'node:events';

const LARGEST_READ = 64 * 1024;
const HEAD_END = '\r\n\r\n';

/** Receives the body of an answer; its bytes are valid only during the call. */
export type OnAnswer = (body: Buffer) => void;

/**
 * One HTTP/1.1 connection with one request at a time, as cheap as Node allows: bytes out, bytes in, and only the status
 * and the length of the head are read. The load generator may share its cores with the target that it measures.
 */
export class Connection {
  private onAnswer: OnAnswer = () => undefined;
  private received: Buffer | undefined;

  private constructor(
    private readonly socket: Socket,
    private readonly fail: (error: Error) => void,
  ) {}

  /** @param fail called for every answer but 200, and when the connection breaks. */
  static async open(port: number, fail: (error: Error) => void): Promise<Connection> {
    const buffer = Buffer.allocUnsafe(LARGEST_READ);
    const onread = {
      buffer,
      callback: (length: number): true => connection.read(buffer.subarray(0, length)),
    };
    const socket: Socket = connect({ host: '127.0.0.1', port, noDelay: true, onread });
    const connection: Connection = new Connection(socket, fail);
    await once(socket, 'connect');
    socket.on('error', fail);
    socket.on('close', () => fail(new Error('the server closed a connection')));
    return connection;
  }

  send(request: Buffer, onAnswer: OnAnswer): void {
    this.onAnswer = onAnswer;
    this.socket.write(request);
  }

  close(): void {
    this.socket.removeAllListeners('close');
    this.socket.destroy();
  }

  private read(chunk: Buffer): true {
    const bytes = this.received ? Buffer.concat([this.received, chunk]) : chunk;
    const bodyStart = bytes.indexOf(HEAD_END) + HEAD_END.length;
    const end = bodyStart < HEAD_END.length ? Infinity : bodyStart + contentLength(bytes, bodyStart);
    if (bytes.length < end) {
      this.received = Buffer.from(bytes);
      return true;
    }
    this.received = undefined;
    if (bytes.length === end && isOk(bytes)) this.onAnswer(bytes.subarray(bodyStart));
    else this.fail(new Error(`an answer that is not 200 with a Content-Length: ${describe(bytes)}`));
    return true;
  }
}

function isOk(bytes: Buffer): boolean {
  return bytes.toString('latin1', 0, 13) === 'HTTP/1.1 200 ';
}

/** The Content-Length; NaN, which no length equals, when the head has none. */
function contentLength(bytes: Buffer, headEnd: number): number {
  return Number(/\r\ncontent-length: *(\d+)\r\n/i.exec(bytes.toString('latin1', 0, headEnd))?.[1]);
}

/** Status line and, unless there may be tokens in it, the body. */
function describe(bytes: Buffer): string {
  const text = bytes.toString('latin1');
  const status = text.slice(0, text.indexOf('\r\n'));
  return isOk(bytes) ? status : `${status}: ${text.slice(text.indexOf(HEAD_END)).trim().slice(0, 300)}`;
}
