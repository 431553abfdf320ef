/** Characters of a line, and of an event's data; the service's have about 200. */
const LONGEST = 65_536;

export interface StreamListener {
  /** @param name `message` if the stream names none */
  onEvent(name: string, data: string): void;
  /** The end of a block, after its event. @param id undefined if the block has none */
  onBlock(id: string | undefined): void;
}

/** Parses `text/event-stream` (HTML standard §9.2.6) in chunks of any size. */
export class EventStreamParser {
  private readonly decoder = new TextDecoder(); // drops a BOM
  private rest = '';
  private endedWithCr = false;
  private name = '';
  private data: string[] = [];
  private dataLength = 0;
  private id: string | undefined;

  constructor(private readonly listener: StreamListener) {}

  /** @throws RangeError for a line or an event of more than 64 KiB */
  feed(chunk: Uint8Array): void {
    let text = this.decoder.decode(chunk, { stream: true });
    if (text === '') return;
    if (this.endedWithCr && text.startsWith('\n')) text = text.slice(1); // the second half of a CR LF
    this.endedWithCr = text.endsWith('\r');
    const lines = text.split(/\r\n|\n|\r/);
    lines[0] = this.rest + lines[0]!; // after the split, which then reads each character once
    this.rest = lines.pop()!;
    for (const line of lines) this.take(line);
    if (this.rest.length > LONGEST) throw tooLong();
  }

  private take(line: string): void {
    if (line.length > LONGEST) throw tooLong();
    if (line === '') return this.endBlock();
    const colon = line.indexOf(':'); // a comment is a field without a name
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line.startsWith(' ', colon + 1) ? colon + 2 : colon + 1);
    if (field === 'event') this.name = value;
    else if (field === 'id' && !value.includes('\0')) this.id = value;
    else if (field === 'data') this.addData(value);
  }

  private addData(value: string): void {
    this.dataLength += value.length + 1;
    if (this.dataLength > LONGEST) throw tooLong();
    this.data.push(value);
  }

  private endBlock(): void {
    const { name, data, id } = this;
    this.name = '';
    this.data = [];
    this.dataLength = 0;
    this.id = undefined;
    if (data.length > 0) this.listener.onEvent(name || 'message', data.join('\n'));
    this.listener.onBlock(id);
  }
}

const tooLong = (): RangeError => new RangeError('a line or an event of the stream is too long');
