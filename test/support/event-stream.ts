import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { request as requestOverTls } from 'node:https';
import { text } from 'node:stream/consumers';

export interface ReadEvent {
  readonly event: string;
  readonly data: Record<string, string | null>;
  /** By `performance.now()`. */
  readonly at: number;
}

/** Reads server-sent events as a browser does (WHATWG HTML §9.2.6), and counts comments. */
export class EventStreamReader {
  readonly events: ReadEvent[] = [];
  /** Of the last block that had one. */
  lastEventId = '';
  /** When comments with an id arrived: the instance had read the database. */
  readonly readings: number[] = [];
  /** Comments without. */
  signsOfLife = 0;
  /** Resolves at its end: whether the other side ended it as it should. */
  readonly ended: Promise<boolean>;
  private rest = '';

  private constructor(readonly response: IncomingMessage) {
    response.setEncoding('utf8').on('data', (chunk: string) => this.take(chunk));
    response.on('error', () => undefined);
    this.ended = new Promise((resolve) => response.once('close', () => resolve(response.complete)));
  }

  /**
   * @param options `ca`: what to trust, with `https:`; `path`: that of another stream
   * @throws Error with status and body if the answer is no stream
   */
  static async open(
    url: string,
    key: string,
    lastEventId?: string,
    options: { readonly ca?: string; readonly path?: string } = {},
  ): Promise<EventStreamReader> {
    const response = await EventStreamReader.ask(url, key, lastEventId, options);
    if (response.statusCode === 200) return new EventStreamReader(response);
    throw new Error(`${response.statusCode} ${await text(response)}`);
  }

  static async ask(
    url: string,
    key: string,
    lastEventId?: string,
    { path = '/sessions/ended', ...options }: { method?: string; ca?: string; path?: string } = {},
  ): Promise<IncomingMessage> {
    const headers = {
      Authorization: `Bearer ${key}`,
      ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }),
    };
    const send = url.startsWith('https:') ? requestOverTls : request;
    const call = send(url + path, { ...options, headers, agent: false });
    call.on('error', () => undefined); // of a reset after the response, which reports it as its end
    call.end();
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    return response;
  }

  /** The data of the events of a name, so far. */
  of(name: string): ReadEvent['data'][] {
    return this.events.filter(({ event }) => event === name).map(({ data }) => data);
  }

  get isReady(): boolean {
    return this.of('ready').length > 0;
  }

  /** Session ids of the `ended` events. */
  get sessions(): string[] {
    return this.of('ended').map(({ session_id }) => session_id!);
  }

  stopReading(): void {
    this.response.socket.pause();
  }

  readAgain(): void {
    this.response.socket.resume();
  }

  close(): void {
    this.response.destroy();
  }

  private take(chunk: string): void {
    const blocks = (this.rest + chunk).split('\n\n');
    this.rest = blocks.pop()!;
    for (const block of blocks) this.takeBlock(block.split('\n'));
  }

  private takeBlock(lines: string[]): void {
    const field = (name: string): string | undefined =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const [event, data, id] = [field('event'), field('data'), field('id')];
    if (id !== undefined) this.lastEventId = id;
    if (lines.some((line) => line.startsWith(':'))) {
      if (id === undefined) this.signsOfLife++;
      else this.readings.push(performance.now());
    }
    if (data === undefined) return;
    this.events.push({
      event: event ?? 'message',
      data: JSON.parse(data) as ReadEvent['data'],
      at: performance.now(),
    });
  }
}
