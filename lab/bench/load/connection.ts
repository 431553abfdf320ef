import { connect, type Socket } from 'node:net';
import { once } from 'node:events';

const LARGEST_READ = 64 * 1024;
const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '0\r\n\r\n';
const OK = '200';

/** Receives the body of an answer, and its head; the bytes are valid only during the call. */
export type OnAnswer = (body: Buffer, head: Buffer) => void;

/**
 * One HTTP/1.1 connection with one request at a time, as cheap as Node allows: bytes out, bytes in, and only the status
 * and the length of the head are read. The load generator may share its cores with the target that it measures.
 */
export class Connection {
  private onAnswer: OnAnswer = () => undefined;
  private received: Buffer | undefined;
  private status = OK;

  private constructor(
    private readonly socket: Socket,
    private readonly fail: (error: Error) => void,
  ) {}

  /** @param fail called for every answer of another status than was asked for, and when the connection breaks. */
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

  /** @param status all of it, or its first digits */
  send(request: Buffer, onAnswer: OnAnswer, status = OK): void {
    this.onAnswer = onAnswer;
    this.status = status;
    this.socket.write(request);
  }

  close(): void {
    this.socket.removeAllListeners('close');
    this.socket.destroy();
  }

  private read(chunk: Buffer): true {
    const bytes = this.received ? Buffer.concat([this.received, chunk]) : chunk;
    const bodyStart = bytes.indexOf(HEAD_END) + HEAD_END.length;
    const end = bodyStart < HEAD_END.length ? Infinity : endOf(bytes, bodyStart);
    if (bytes.length < end) {
      this.received = Buffer.from(bytes);
      return true;
    }
    this.received = undefined;
    if (bytes.length === end && hasStatus(bytes, this.status))
      this.onAnswer(bytes.subarray(bodyStart), bytes.subarray(0, bodyStart));
    else this.fail(new Error(`an answer that is not ${this.status} with a length: ${describe(bytes)}`));
    return true;
  }
}

function hasStatus(bytes: Buffer, status: string): boolean {
  return bytes.toString('latin1', 0, 9 + status.length) === `HTTP/1.1 ${status}`;
}

function endOf(bytes: Buffer, bodyStart: number): number {
  const head = bytes.toString('latin1', 0, bodyStart);
  const [, length] = /\r\ncontent-length: *(\d+)\r\n/i.exec(head) ?? [];
  if (length !== undefined) return bodyStart + Number(length);
  if (hasStatus(bytes, '204')) return bodyStart;
  if (!/\r\ntransfer-encoding: chunked\r\n/i.test(head)) return NaN;
  return bytes.toString('latin1', bytes.length - LAST_CHUNK.length) === LAST_CHUNK ? bytes.length : Infinity;
}

/** Status line and, unless there may be tokens in it, the body. */
function describe(bytes: Buffer): string {
  const text = bytes.toString('latin1');
  const status = text.slice(0, text.indexOf('\r\n'));
  return hasStatus(bytes, OK)
    ? status
    : `${status}: ${text.slice(text.indexOf(HEAD_END)).trim().slice(0, 300)}`;
}
